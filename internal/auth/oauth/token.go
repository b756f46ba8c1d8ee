package oauth

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/redoubt/redoubt/internal/model"
)

// Hash returns the stored hash of a code or a token.
func Hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Prefixes of codes and refresh tokens, for people and secret scanners.
const (
	codePrefix    = "rdc"
	refreshPrefix = "rdr"
)

// NewCode returns an authorization code for a deployment.
func NewCode(deploymentID int64) string {
	return codePrefix + "_" + strconv.FormatInt(deploymentID, 36) + "_" + rand.Text() + rand.Text()
}

// CodeDeployment returns the deployment of a code.
func CodeDeployment(code string) (int64, bool) {
	parts := strings.Split(code, "_")
	if len(code) > 128 || len(parts) != 3 || parts[0] != codePrefix {
		return 0, false
	}
	id, err := strconv.ParseInt(parts[1], 36, 64)
	return id, err == nil && id > 0
}

// Refresh is the content of a refresh token.
type Refresh struct{ DeploymentID, TokenID, Generation int64 }

// NewRefresh returns a refresh token. It is signed, so that replaced tokens can be distinguished
// from forged ones.
func (k Keys) NewRefresh(r Refresh) string {
	body := fmt.Sprintf("%s_%s_%s_%s_%s", refreshPrefix, strconv.FormatInt(r.DeploymentID, 36),
		strconv.FormatInt(r.TokenID, 36), strconv.FormatInt(r.Generation, 36), rand.Text()+rand.Text())
	return body + "." + sign(k()[0], "refresh", body)
}

// Refresh parses a refresh token, in force or not. For forged tokens, ok is false.
func (k Keys) Refresh(text string) (r Refresh, ok bool) {
	body, mac, _ := strings.Cut(text, ".")
	parts := strings.Split(body, "_")
	if len(text) > 256 || len(parts) != 5 || parts[0] != refreshPrefix || !k.signed("refresh", body, mac) {
		return r, false
	}
	for i, to := range []*int64{&r.DeploymentID, &r.TokenID, &r.Generation} {
		var err error
		if *to, err = strconv.ParseInt(parts[i+1], 36, 64); err != nil {
			return r, false
		}
	}
	return r, true
}

// claims are the claims of an access token.
type claims struct {
	jwt.Claims
	ClientID   string `json:"client_id"`
	Scope      string `json:"scope"`
	Deployment int64  `json:"dep"`
}

// signer returns the private key derived from a key, and its id.
func signer(key []byte) (ed25519.PrivateKey, string) {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("oauth access tokens"))
	private := ed25519.NewKeyFromSeed(mac.Sum(nil))
	public := private.Public().(ed25519.PublicKey) //nolint:forcetypeassert // it is the type that the package says
	sum := sha256.Sum256(public)
	return private, hex.EncodeToString(sum[:8])
}

// NewAccess returns an access token: a JWT (RFC 9068) with a random id. The signature is for other
// servers; this server finds the token by its hash.
func (k Keys) NewAccess(issuer, clientID, resource string, t model.Token, now time.Time) (string, error) {
	private, kid := signer(k()[0])
	options := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader(jose.HeaderKey("kid"), kid)
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: private}, options)
	if err != nil {
		return "", err
	}
	return jwt.Signed(s).Claims(claims{
		Claims: jwt.Claims{
			Issuer: issuer, Subject: t.PublicID, Audience: jwt.Audience{resource}, ID: rand.Text() + rand.Text(),
			IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(t.ExpiresAt),
		},
		ClientID: clientID, Scope: ScopeOf(t), Deployment: t.DeploymentID,
	}).Serialize()
}

// KeySet returns the public keys that verify access tokens.
func (k Keys) KeySet() (set jose.JSONWebKeySet) {
	for _, key := range k() {
		private, kid := signer(key)
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key:       private.Public(),
			KeyID:     kid,
			Algorithm: string(jose.EdDSA),
			Use:       "sig",
		})
	}
	return set
}
