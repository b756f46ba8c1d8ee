package auth

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/redoubt/redoubt/internal/model"
)

// ceremonyFor is how long a page may wait for a passkey.
const ceremonyFor = 15 * time.Minute

// maxCredential limits a browser's response for a passkey, in bytes.
const maxCredential = 64 << 10

// PasskeyStore provides the storage of passkeys.
type PasskeyStore interface {
	// Passkeys returns the passkeys of a user.
	Passkeys(ctx context.Context, userID int64) ([]model.Passkey, error)
	// PasskeyByCredential returns a passkey with its user.
	PasskeyByCredential(ctx context.Context, credentialID []byte) (model.Passkey, model.User, error)
	// AddPasskey adds a passkey to a user. The first second factor starts a new session and ends
	// all others.
	AddPasskey(
		ctx context.Context, p model.Passkey, recovery [][]byte, s model.Session, hash []byte,
	) (first bool, err error)
	// SignInByPasskey starts a complete session.
	SignInByPasskey(ctx context.Context, use model.PasskeyUse, s model.Session, hash []byte) (model.Session, error)
}

// Passkeys registers passkeys and signs in with them (WebAuthn). It is safe for concurrent use.
type Passkeys struct {
	lib     *webauthn.WebAuthn
	factors *SecondFactors
	store   PasskeyStore
	origin  string
}

// Ceremony is the state that a page passes to the browser and returns with its response.
type Ceremony struct {
	Options string // JSON for navigator.credentials, with bytes as base64url
	Sealed  string // the sealed challenge, valid for one purpose and 15 minutes
	// Unreadable is an UnreadableError if passkeys of the user are omitted because they cannot be
	// decrypted. It is nil otherwise.
	Unreadable error
}

// NewPasskeys returns passkeys for the server's public address. Passkeys are permanently bound to
// its host. It returns an error unless the address is HTTPS or localhost, and for IP addresses,
// because browsers support no passkeys there.
func NewPasskeys(address string, factors *SecondFactors, store PasskeyStore) (*Passkeys, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("invalid address of a server %q", address)
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return nil, fmt.Errorf("browsers do not support passkeys for %s: use an address with a host name", host)
	}
	if u.Scheme != "https" && host != "localhost" {
		return nil, fmt.Errorf("browsers do not support passkeys for %s: use an https address", address)
	}
	origin := u.Scheme + "://" + u.Host
	lib, err := webauthn.New(&webauthn.Config{RPID: host, RPDisplayName: "Redoubt", RPOrigins: []string{origin}})
	if err != nil {
		return nil, fmt.Errorf("set passkeys up for %s: %w", origin, err)
	}
	return &Passkeys{lib: lib, factors: factors, store: store, origin: origin}, nil
}

// Origin returns the address that passkeys are bound to.
func (p *Passkeys) Origin() string { return p.origin }

// holder implements webauthn.User, with the passkeys that can be decrypted.
type holder struct {
	model.User
	credentials []webauthn.Credential
	stored      []model.Passkey // all passkeys
	unreadable  error           // an UnreadableError if some cannot be decrypted
}

// WebAuthnID returns the user's id, which reveals nothing about the person to an authenticator.
func (h holder) WebAuthnID() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(h.ID)) //nolint:gosec // ids rise from 1
}

// WebAuthnName returns the user name.
func (h holder) WebAuthnName() string { return h.Name }

// WebAuthnDisplayName returns the display name.
func (h holder) WebAuthnDisplayName() string { return h.Title() }

// WebAuthnCredentials returns the passkeys.
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

func passkeyOf(userID int64) []byte { return fmt.Appendf(nil, "passkey of user %d", userID) }

// holder reads the passkeys of a user. An unreadable passkey is not an error, because the user may
// have other ones.
func (p *Passkeys) holder(ctx context.Context, u model.User) (h holder, err error) {
	h.User = u
	h.stored, err = p.store.Passkeys(ctx, u.ID)
	for _, k := range h.stored {
		var c webauthn.Credential
		text, err := p.factors.sealer.Open(nil, nil, k.Credential, passkeyOf(u.ID))
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil {
			h.unreadable = &UnreadableError{"passkey", u.Name, err}
			continue
		}
		h.credentials = append(h.credentials, c)
	}
	return h, err
}

// readable returns an UnreadableError if the passkey with the id belongs to the user and cannot be
// decrypted.
func (h holder) readable(id []byte) error {
	read := slices.ContainsFunc(h.credentials, func(c webauthn.Credential) bool { return bytes.Equal(c.ID, id) })
	if read || !slices.ContainsFunc(h.stored, func(k model.Passkey) bool { return bytes.Equal(k.CredentialID, id) }) {
		return nil
	}
	return h.unreadable
}

// seal returns the encrypted passkey for storage. It omits the attestation, which is not used.
func (p *Passkeys) seal(userID int64, c webauthn.Credential) ([]byte, error) {
	c.Attestation, c.Authenticator.CloneWarning = webauthn.CredentialAttestation{}, false
	text, err := json.Marshal(c)
	return p.factors.sealer.Seal(nil, nil, text, passkeyOf(userID)), err
}

// ceremony seals the challenge. The argument about contains its purpose and user.
func (p *Passkeys) ceremony(options any, challenge *webauthn.SessionData, about string) (Ceremony, error) {
	shown, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, err
	}
	text, err := json.Marshal(challenge)
	if err != nil {
		return Ceremony{}, err
	}
	sealed := p.factors.sealer.Seal(nil, nil, stamp(p.factors.sessions.clock().Add(ceremonyFor), text), []byte(about))
	return Ceremony{Options: string(shown), Sealed: base64.RawURLEncoding.EncodeToString(sealed)}, nil
}

// openChallenge opens a challenge that ceremony sealed. It returns ErrCode for another purpose or an
// expired challenge.
func (p *Passkeys) openChallenge(text, about string) (s webauthn.SessionData, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return s, ErrCode
	}
	opened, err := p.factors.sealer.Open(nil, nil, sealed, []byte(about))
	if err == nil {
		opened, err = readStamped(opened, p.factors.sessions.clock())
	}
	if err != nil || json.Unmarshal(opened, &s) != nil {
		return s, ErrCode
	}
	return s, nil
}

// Purposes of ceremonies, with the user.
func toRegister(who SessionInfo) string {
	return fmt.Sprintf("passkey to register, of user %d in session %d", who.User.ID, who.Session.ID)
}

func toFinish(half string) string {
	return fmt.Sprintf("passkey to finish the sign-in %x", CodeHash(half))
}

const toSignIn = "passkey to sign in"

// Register requests a new passkey of the signed-in user. It must be discoverable and verify its
// user. An authenticator with an unreadable passkey may create another one.
func (p *Passkeys) Register(ctx context.Context, who SessionInfo) (Ceremony, error) {
	h, err := p.holder(ctx, who.User)
	if err != nil {
		return Ceremony{}, err
	}
	required := true
	options, opened, err := p.lib.BeginRegistration(h, webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
		ResidentKey:        protocol.ResidentKeyRequirementRequired,
		RequireResidentKey: &required, UserVerification: protocol.VerificationRequired,
	}), webauthn.WithExclusions(webauthn.Credentials(h.credentials).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, fmt.Errorf("request a passkey: %w", err)
	}
	return p.ceremony(options.Response, opened, toRegister(who))
}

// Add stores a new passkey from a browser. The first second factor starts a new session and ends
// all others. In this case Add returns the session's secret and the recovery codes, which are shown
// once. It returns ErrCode for an invalid response.
func (p *Passkeys) Add(
	ctx context.Context, who SessionInfo, name, sealed, answer string, from Origin,
) (secret string, recovery []string, err error) {
	challenge, err := p.openChallenge(sealed, toRegister(who))
	if err != nil {
		return "", nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer[:min(len(answer), maxCredential)]))
	if err != nil {
		return "", nil, ErrCode
	}
	h, err := p.holder(ctx, who.User)
	if err != nil {
		return "", nil, err
	}
	c, err := p.lib.CreateCredential(h, challenge, parsed)
	if err != nil {
		return "", nil, ErrCode
	}
	credential, err := p.seal(who.User.ID, *c)
	if err != nil {
		return "", nil, err
	}
	first := "password"
	if who.Session.ByLink() {
		first = "link"
	}
	recovery, hashes := newRecoveryCodes()
	secret = random(secretBytes)
	isFirst, err := p.store.AddPasskey(ctx, model.Passkey{
		UserID:       who.User.ID,
		CredentialID: c.ID,
		Credential:   credential,
		Name:         strings.TrimSpace(model.Line(name)),
	},
		hashes, p.factors.sessions.session(who.User.ID, first+" and passkey", from), hash(secret))
	if err != nil || !isFirst {
		return "", nil, err
	}
	p.factors.sessions.Forget()
	return secret, recovery, nil
}

// RequestPasskey requests a passkey of any user for a sign-in. The passkey must verify its user.
func (p *Passkeys) RequestPasskey() (Ceremony, error) {
	options, challenge, err := p.lib.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return Ceremony{}, fmt.Errorf("request a passkey: %w", err)
	}
	return p.ceremony(options.Response, challenge, toSignIn)
}

// RequestSecondFactor requests a passkey of a user whose sign-in awaits the second factor. The ceremony is
// empty if the user has no readable passkey.
func (p *Passkeys) RequestSecondFactor(ctx context.Context, half string, u model.User) (Ceremony, error) {
	h, err := p.holder(ctx, u)
	if err != nil || len(h.credentials) == 0 {
		return Ceremony{Unreadable: h.unreadable}, err
	}
	options, challenge, err := p.lib.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationPreferred))
	if err != nil {
		return Ceremony{}, fmt.Errorf("request a passkey: %w", err)
	}
	c, err := p.ceremony(options.Response, challenge, toFinish(half))
	c.Unreadable = h.unreadable
	return c, err
}

// SignIn starts a session by a passkey alone. It returns ErrCode, an UnreadableError, a BusyError,
// or an error of the store.
func (p *Passkeys) SignIn(ctx context.Context, sealed, answer string, from Origin) (string, error) {
	if err := p.factors.sessions.Admit("passkey", from); err != nil {
		return "", err
	}
	challenge, err := p.openChallenge(sealed, toSignIn)
	if err != nil {
		return "", err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer[:min(len(answer), maxCredential)]))
	if err != nil {
		return "", ErrCode
	}
	_, u, err := p.store.PasskeyByCredential(ctx, parsed.RawID)
	if errors.Is(err, model.ErrNotFound) {
		return "", ErrCode
	}
	if err != nil {
		return "", err
	}
	h, err := p.holder(ctx, u)
	if err == nil {
		err = h.readable(parsed.RawID)
	}
	if err != nil {
		return "", err
	}
	_, c, _ := p.lib.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return h, nil }, challenge, parsed)
	use, reason, err := p.use(h, c, challenge)
	if err != nil {
		return "", err
	}
	if reason == "" {
		secret := random(secretBytes)
		_, err := p.store.SignInByPasskey(ctx, use, p.factors.sessions.session(u.ID, "passkey", from), hash(secret))
		switch {
		case err == nil:
			return secret, nil
		case errors.Is(err, model.ErrNotFound):
			return "", ErrCode
		case !errors.Is(err, model.ErrConflict):
			return "", err
		}
		reason = "the passkey's signature was used before, or the passkey was removed"
	}
	return "", p.factors.failed(ctx, u, "passkey", reason, from)
}

// FinishSecond starts the session of a sign-in that awaits a passkey, as SecondFactors.Finish does
// for codes.
func (p *Passkeys) FinishSecond(ctx context.Context, half, sealed, answer string, from Origin) (string, error) {
	h, u, err := p.factors.try(ctx, half, from)
	if err != nil {
		return "", err
	}
	challenge, err := p.openChallenge(sealed, toFinish(half))
	if err != nil {
		return "", err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer[:min(len(answer), maxCredential)]))
	if err != nil {
		return "", ErrCode
	}
	who, err := p.holder(ctx, u)
	if err == nil {
		err = who.readable(parsed.RawID)
	}
	if err != nil {
		return "", err
	}
	c, _ := p.lib.ValidateLogin(who, challenge, parsed)
	use, reason, err := p.use(who, c, challenge)
	if err != nil {
		return "", err
	}
	if reason != "" {
		return "", p.factors.failed(ctx, u, h.Method+" and passkey", reason, from)
	}
	return p.factors.consume(ctx, u, h.Method, model.FactorProof{Passkey: &use}, from, p.factors.finish(ctx, half))
}

// use returns the use of a passkey for the store, or the reason why it is invalid. A nil credential
// means an invalid signature. A decreased counter indicates a copied passkey.
func (p *Passkeys) use(
	h holder, c *webauthn.Credential, challenge webauthn.SessionData,
) (use model.PasskeyUse, reason string, err error) {
	if c == nil {
		return use, "wrong passkey", nil
	}
	if c.Authenticator.CloneWarning {
		return use, "the counter of the passkey decreased: it may have been copied", nil
	}
	use = model.PasskeyUse{Challenge: hash(challenge.Challenge), Until: p.factors.sessions.clock().Add(ceremonyFor)}
	for _, k := range h.stored {
		if string(k.CredentialID) == string(c.ID) {
			use.ID = k.ID
		}
	}
	use.Credential, err = p.seal(h.ID, *c)
	return use, "", err
}
