package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
)

const passkeyOrigin = "https://redoubt.example"

// softKey is a WebAuthn authenticator with one key. Tests change its fields to produce invalid
// responses.
type softKey struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	user    []byte // the user handle in its responses
	counter uint32
	still   bool // whether the counter remains zero, as for synchronized passkeys
	flags   byte // 1: user present, 4: user verified
	origin  string
	host    string
}

func newSoftKey(t *testing.T, id string) *softKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &softKey{t: t, key: key, id: []byte(id), flags: 5, origin: passkeyOrigin, host: "redoubt.example"}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// client returns the client data that a browser includes in the signature.
func (k *softKey) client(kind string, options string) []byte {
	k.t.Helper()
	var o struct {
		Challenge string
		User      struct{ ID string }
	}
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		k.t.Fatal(err)
	}
	if kind == "webauthn.create" {
		k.user, _ = base64.RawURLEncoding.DecodeString(o.User.ID)
	}
	text, err := json.Marshal(map[string]any{"type": kind, "challenge": o.Challenge, "origin": k.origin, "crossOrigin": false})
	if err != nil {
		k.t.Fatal(err)
	}
	return text
}

// data returns the authenticator data.
func (k *softKey) data(flags byte) []byte {
	host := sha256.Sum256([]byte(k.host))
	return binary.BigEndian.AppendUint32(append(host[:], flags), k.counter)
}

func (k *softKey) answer(response map[string]any) string {
	k.t.Helper()
	text, err := json.Marshal(map[string]any{"id": b64(k.id), "rawId": b64(k.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}})
	if err != nil {
		k.t.Fatal(err)
	}
	return string(text)
}

// makes returns the response to a registration: CBOR with a P-256 key and no attestation.
func (k *softKey) makes(c Ceremony) string {
	k.t.Helper()
	point, err := k.key.PublicKey.Bytes()
	if err != nil {
		k.t.Fatal(err)
	}
	data := append(k.data(k.flags|0x40), make([]byte, 16)...)
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(k.id))), k.id...) //nolint:gosec // a few bytes
	data = append(append(data, 0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32), point[1:33]...)
	data = append(append(data, 0x22, 0x58, 32), point[33:]...)
	object := append([]byte("\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"), byte(len(data)))
	client := k.client("webauthn.create", c.Options)
	return k.answer(map[string]any{"clientDataJSON": b64(client), "attestationObject": b64(append(object, data...))})
}

// signs returns the response to a sign-in request.
func (k *softKey) signs(c Ceremony) string {
	k.t.Helper()
	if !k.still {
		k.counter++
	}
	client, data := k.client("webauthn.get", c.Options), k.data(k.flags)
	of := sha256.Sum256(client)
	sum := sha256.Sum256(append(slices.Clip(data), of[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.key, sum[:])
	if err != nil {
		k.t.Fatal(err)
	}
	return k.answer(map[string]any{"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64(k.user)})
}

// newPasskeys returns a door whose user ada has an app and a passkey.
func newPasskeys(t *testing.T) (*withFactors, *Passkeys, *softKey) {
	t.Helper()
	f := newFactors(t)
	p, err := NewPasskeys(passkeyOrigin+"/", f.SecondFactors, f.door.store)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := f.Finish(t.Context(), f.half(), f.recovery[0], home)
	if err != nil {
		t.Fatal(err)
	}
	k := newSoftKey(t, "0123456789abcdef")
	who := f.visit(secret)
	c, err := p.Register(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	if secret, codes, err := p.Add(t.Context(), who, " laptop\x1b ", c.Sealed, k.makes(c), home); err != nil || secret != "" || codes != nil {
		t.Fatalf("beside an app it begins %q with %v, %v", secret, codes, err)
	}
	list, err := f.door.store.Passkeys(t.Context(), f.ada.ID)
	if err != nil || len(list) != 1 || list[0].Name != "laptop" || strings.Contains(string(list[0].Credential), "publicKey") {
		t.Fatalf("kept is %+v, %v", list, err)
	}
	text, err := f.sealer.Open(nil, nil, list[0].Credential, passkeyOf(f.ada.ID))
	// Base64-encoded JSON starts with eyJ. It would be the client data.
	if err != nil || !strings.Contains(string(text), `"publicKey"`) || strings.Contains(string(text), "eyJ") {
		t.Fatalf("sealed is %s, %v", text, err)
	}
	return f, p, k
}

func TestPasskeySignIn(t *testing.T) {
	f, p, k := newPasskeys(t)
	request := func() Ceremony {
		c, err := p.RequestPasskey()
		if err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(time.Minute)
		return c
	}
	c := request()
	answer := k.signs(c)
	secret, err := p.SignIn(t.Context(), c.Sealed, answer, home)
	if err != nil || f.visit(secret).Session.Method != "passkey" || f.visit(secret).User.ID != f.ada.ID {
		t.Fatalf("signed in is %q, %v", secret, err)
	}
	if _, err := p.SignIn(t.Context(), c.Sealed, answer, home); !errors.Is(err, ErrCode) {
		t.Errorf("the same again: %v", err)
	}
	second, err := p.RequestSecondFactor(t.Context(), f.half(), f.ada)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(bad *softKey, c *Ceremony){
		"another site":             func(bad *softKey, _ *Ceremony) { bad.origin = "https://evil.example" },
		"another host":             func(bad *softKey, _ *Ceremony) { bad.host = "evil.example" },
		"user not verified":        func(bad *softKey, _ *Ceremony) { bad.flags = 1 },
		"user not present":         func(bad *softKey, _ *Ceremony) { bad.flags = 4 },
		"another key":              func(bad *softKey, _ *Ceremony) { bad.key = newSoftKey(t, "x").key },
		"an unknown key":           func(bad *softKey, _ *Ceremony) { bad.id = []byte("another one") },
		"another user":             func(bad *softKey, _ *Ceremony) { bad.user = []byte("12345678") },
		"a counter that stays":     func(bad *softKey, _ *Ceremony) { bad.counter = k.counter - 1 },
		"asked after the password": func(_ *softKey, c *Ceremony) { *c = second },
		"another challenge":        func(_ *softKey, c *Ceremony) { c.Sealed = request().Sealed },
		"nothing that was asked":   func(_ *softKey, c *Ceremony) { c.Sealed = "" },
		"asked a quarter hour ago": func(_ *softKey, _ *Ceremony) { f.clock.Advance(ceremonyFor) },
	} {
		bad, c := *k, request()
		change(&bad, &c)
		if _, err := p.SignIn(t.Context(), c.Sealed, bad.signs(c), home); !errors.Is(err, ErrCode) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := p.SignIn(t.Context(), request().Sealed, strings.Repeat("x", 2*maxCredential), home); !errors.Is(err, ErrCode) {
		t.Errorf("invalid passkey: %v", err)
	}
	k.counter += 100
	c = request()
	if _, err := p.SignIn(t.Context(), c.Sealed, k.signs(c), home); err != nil {
		t.Errorf("after all of that: %v", err)
	}
	var busy *BusyError
	for range 50 {
		if _, err = p.SignIn(t.Context(), "", "", home); errors.As(err, &busy) {
			break
		}
	}
	if busy == nil {
		t.Error("passkeys may be tried without end")
	}
}

func TestPasskeyAsSecondFactor(t *testing.T) {
	f, p, k := newPasskeys(t)
	request := func() (string, Ceremony) {
		half := f.half()
		c, err := p.RequestSecondFactor(t.Context(), half, f.ada)
		if err != nil {
			t.Fatal(err)
		}
		return half, c
	}
	half, c := request()
	other, _ := request()
	if _, err := p.FinishSecond(t.Context(), other, c.Sealed, k.signs(c), home); !errors.Is(err, ErrCode) {
		t.Errorf("asked of another sign-in: %v", err)
	}
	bad := *k
	bad.key = newSoftKey(t, "x").key
	if _, err := p.FinishSecond(t.Context(), half, c.Sealed, bad.signs(c), home); !errors.Is(err, ErrCode) {
		t.Errorf("another key: %v", err)
	}
	k.flags = 1 // verification is optional after the password
	secret, err := p.FinishSecond(t.Context(), half, c.Sealed, k.signs(c), home)
	if err != nil || f.visit(secret).Session.Method != "password and passkey" {
		t.Errorf("the right one: %v", err)
	}
	if _, err := p.FinishSecond(t.Context(), half, c.Sealed, k.signs(c), home); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a sign-in that is over: %v", err)
	}
	ben := f.add("ben", model.RoleViewer)
	if c, err := p.RequestSecondFactor(t.Context(), "x", ben); err != nil || c.Sealed != "" {
		t.Errorf("who has none is asked for one: %v", err)
	}
	half, _ = request()
	for range model.MaxHalfTries {
		f.clock.Advance(time.Minute)
		if _, err := p.FinishSecond(t.Context(), half, "", "", home); !errors.Is(err, ErrCode) {
			t.Fatal(err)
		}
	}
	if _, err := p.FinishSecond(t.Context(), half, "", "", home); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("too many tries: %v", err)
	}
}

// TestFirstPasskey checks that the first second factor ends other sessions and creates recovery
// codes.
func TestFirstPasskey(t *testing.T) {
	f, p, existing := newPasskeys(t)
	f.add("ben", model.RoleViewer)
	old, mine := f.signIn("ben"), f.signIn("ben")
	who, k := f.visit(mine), newSoftKey(t, "of ben")
	register := func() Ceremony {
		c, err := p.Register(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := register()
	for what, add := range map[string]func() error{
		"for another session": func() error {
			_, _, err := p.Add(t.Context(), f.visit(old), "key", c.Sealed, k.makes(c), home)
			return err
		},
		"made for another site": func() error {
			bad := *k
			bad.origin = "https://evil.example"
			_, _, err := p.Add(t.Context(), who, "key", c.Sealed, bad.makes(c), home)
			return err
		},
		"without user verification": func() error {
			bad := *k
			bad.flags = 1
			_, _, err := p.Add(t.Context(), who, "key", c.Sealed, bad.makes(c), home)
			return err
		},
		"nothing": func() error { _, _, err := p.Add(t.Context(), who, "key", c.Sealed, "", home); return err },
	} {
		if err := add(); !errors.Is(err, ErrCode) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := p.Add(t.Context(), who, "key", c.Sealed, existing.makes(c), home); !errors.Is(err, model.ErrConflict) {
		t.Errorf("a passkey of another user: %v", err)
	}
	var invalid *model.InvalidError
	if _, _, err := p.Add(t.Context(), who, " ", c.Sealed, k.makes(c), home); !errors.As(err, &invalid) {
		t.Errorf("without a name: %v", err)
	}
	secret, codes, err := p.Add(t.Context(), who, "key", c.Sealed, k.makes(c), home)
	if err != nil || len(codes) != recoveryCodes || f.visits(old) || f.visits(mine) || f.visit(secret).Session.Method != "password and passkey" {
		t.Errorf("the first one: %v, %v", codes, err)
	}
}

// TestPasskeyWithoutCounter checks that each signature of a synchronized passkey is accepted
// once. Users who signed in by a link may add a passkey.
func TestPasskeyWithoutCounter(t *testing.T) {
	f, p, _ := newPasskeys(t)
	ben, k := f.add("ben", model.RoleViewer), newSoftKey(t, "of ben")
	k.still = true
	secret, err := f.Begin(t.Context(), ben.ID, "link", home, model.CheckedPassword{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Register(t.Context(), f.visit(secret))
	if err != nil {
		t.Fatal(err)
	}
	if secret, _, err = p.Add(t.Context(), f.visit(secret), "key", c.Sealed, k.makes(c), home); err != nil || f.visit(secret).Session.Method != "link and passkey" {
		t.Fatal(err)
	}
	for range 2 {
		if c, err = p.RequestPasskey(); err != nil {
			t.Fatal(err)
		}
		answer := k.signs(c)
		if _, err := p.SignIn(t.Context(), c.Sealed, answer, home); err != nil {
			t.Error(err)
		}
		if _, err := p.SignIn(t.Context(), c.Sealed, answer, home); !errors.Is(err, ErrCode) {
			t.Errorf("the same again: %v", err)
		}
	}
}

func TestPasskeyAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"https://redoubt.example": "", "https://redoubt.example:8443/": "", "http://localhost:8080": "",
		"http://redoubt.example": "https address", "https://192.0.2.1": "host name", "redoubt": "invalid address", "": "invalid address", "https://a b": "invalid address",
	} {
		_, err := NewPasskeys(address, nil, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

// TestUnreadablePasskeys checks that unreadable passkeys do not block other factors or new
// passkeys. Using one returns an UnreadableError.
func TestUnreadablePasskeys(t *testing.T) {
	f, p, old := newPasskeys(t)
	other, err := keyring.New(f.clock.Now()).Sealer("tests")
	if err != nil {
		t.Fatal(err)
	}
	f.SecondFactors = NewSecondFactors(f.Sessions, f.door.store, other)
	if p, err = NewPasskeys(passkeyOrigin, f.SecondFactors, f.door.store); err != nil {
		t.Fatal(err)
	}
	unreadable := func(what string, err error) {
		t.Helper()
		lost, ok := errors.AsType[*UnreadableError](err)
		if !ok || lost.Factor != "passkey" || lost.User != "ada" || lost.Cause == nil || errors.Is(err, ErrCode) {
			t.Errorf("%s: %v", what, err)
		}
	}
	request := func() Ceremony {
		c, err := p.RequestPasskey()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	half := f.half()
	c, err := p.RequestSecondFactor(t.Context(), half, f.ada)
	if err != nil || c.Sealed != "" || c.Options != "" {
		t.Errorf("asked for is %+v, %v", c, err)
	}
	unreadable("asked for", c.Unreadable)
	c = request()
	_, err = p.SignIn(t.Context(), c.Sealed, old.signs(c), home)
	unreadable("shown alone", err)
	secret, err := f.Finish(t.Context(), half, f.recovery[1], home)
	if err != nil {
		t.Fatalf("a recovery code: %v", err)
	}

	who, k := f.visit(secret), newSoftKey(t, "fedcba9876543210")
	if c, err = p.Register(t.Context(), who); err != nil || strings.Contains(c.Options, b64(old.id)) {
		t.Fatalf("to register: %s, %v", c.Options, err)
	}
	if _, _, err := p.Add(t.Context(), who, "new", c.Sealed, k.makes(c), home); err != nil {
		t.Fatal(err)
	}
	c = request()
	if _, err := p.SignIn(t.Context(), c.Sealed, k.signs(c), home); err != nil {
		t.Errorf("the new one alone: %v", err)
	}
	half = f.half()
	if c, err = p.RequestSecondFactor(t.Context(), half, f.ada); err != nil || c.Sealed == "" {
		t.Errorf("the new one is asked for: %v", err)
	}
	unreadable("beside it", c.Unreadable)
	_, err = p.FinishSecond(t.Context(), half, c.Sealed, old.signs(c), home)
	unreadable("shown after the password", err)
	if secret, err = p.FinishSecond(t.Context(), half, c.Sealed, k.signs(c), home); err != nil {
		t.Errorf("the new one after the password: %v", err)
	}
	list, err := f.door.store.Passkeys(t.Context(), f.ada.ID)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if _, err := f.RemovePasskey(t.Context(), f.visit(secret), list[0].ID); err != nil {
		t.Fatal(err)
	}
	if c, err = p.RequestSecondFactor(t.Context(), f.half(), f.ada); err != nil || c.Sealed == "" || c.Unreadable != nil {
		t.Errorf("without the old one: %+v, %v", c, err)
	}
}

// TestRemovingFactorEndsOtherSessions checks that removing a factor ends all other sessions
// immediately. The current one gets another secret with the same expiry.
func TestRemovingFactorEndsOtherSessions(t *testing.T) {
	f, _, _ := newPasskeys(t)
	list, err := f.door.store.Passkeys(t.Context(), f.ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, remove := range []func(SessionInfo) (string, error){
		func(who SessionInfo) (string, error) { return f.RemovePasskey(t.Context(), who, list[0].ID) },
		func(who SessionInfo) (string, error) {
			secret, codes, err := f.NewRecoveryCodes(t.Context(), who)
			if len(codes) != recoveryCodes {
				t.Errorf("the codes are %v", codes)
			}
			return secret, err
		},
	} {
		mine, err := f.Finish(t.Context(), f.half(), f.recovery[2*i+1], home)
		if err != nil {
			t.Fatal(err)
		}
		other, err := f.Finish(t.Context(), f.half(), f.recovery[2*i+2], home)
		if err != nil {
			t.Fatal(err)
		}
		half, before := f.half(), f.visit(mine)
		f.visit(other)
		f.clock.Advance(time.Minute)
		secret, err := remove(before)
		if err != nil {
			t.Fatal(err)
		}
		if f.visits(mine) || f.visits(other) {
			t.Error("a session goes on by its old secret")
		}
		if _, _, err := f.Half(t.Context(), half); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("half a session goes on: %v", err)
		}
		after := f.visit(secret).Session
		if after.ID != before.Session.ID || after.Method != before.Session.Method || !after.CreatedAt.Equal(before.Session.CreatedAt) || !after.ExpiresAt.Equal(before.Session.ExpiresAt) {
			t.Errorf("the session was %+v and is %+v", before.Session, after)
		}
		if _, err := remove(SessionInfo{Session: model.Session{ID: before.Session.ID + 1000, UserID: f.ada.ID}, User: f.ada}); err == nil {
			t.Error("a session that is over takes factors away")
		}
	}
}
