package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/go-jose/go-jose/v4/jwt"
)

// prefix marks a token of ours, for people and for secret scanners.
const prefix = "rdt"

// secretBytes is how many random bytes a token holds (docs/reference/tokens.md).
const secretBytes = 32

// maxSecret bounds what is looked at before it is thrown away.
const maxSecret = 128

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var errMalformed = errors.New("not a token of this server")

// Secret is a fresh credential. Text is shown once; only Hash is stored.
type Secret struct {
	Text     string
	Hash     []byte // SHA-256 of Text
	PublicID string // names the token in lists and logs; tells nothing of the secret
}

// NewSecret makes a credential for a deployment:
// rdt_<deployment, base 36>_<32 random bytes, base 32>_<checksum>. The deployment
// is in it so that finding the token needs no look across tenants; the checksum
// tells a mistyped one from a revoked one without asking the store.
func NewSecret(deploymentID int64) Secret {
	body := fmt.Sprintf("%s_%s_%s", prefix, strconv.FormatInt(deploymentID, 36), random(secretBytes))
	text := body + "_" + checksum(body)
	return Secret{Text: text, Hash: hash(text), PublicID: NewPublicID()}
}

// NewPublicID names a token in lists and logs.
func NewPublicID() string { return "tok_" + random(10) }

// NewTaskToken returns an unguessable name for a job of a deployment.
func NewTaskToken() string { return "task_" + random(20) }

// ParseSecret reads what a client presents and returns the deployment it names
// and the hash to look for. Garbage is refused without touching the store.
func ParseSecret(text string) (deploymentID int64, sum []byte, err error) {
	if strings.Count(text, ".") == 2 {
		return parseJWT(text)
	}
	if len(text) > maxSecret {
		return 0, nil, errMalformed
	}
	cut := strings.LastIndexByte(text, '_')
	if cut < 0 || checksum(text[:cut]) != text[cut+1:] {
		return 0, nil, errMalformed
	}
	parts := strings.Split(text[:cut], "_")
	if len(parts) != 3 || parts[0] != prefix || len(parts[2]) != encoding.EncodedLen(secretBytes) {
		return 0, nil, errMalformed
	}
	deploymentID, err = strconv.ParseInt(parts[1], 36, 64)
	if err != nil || deploymentID <= 0 {
		return 0, nil, errMalformed
	}
	return deploymentID, hash(text), nil
}

// maxJWT bounds the access tokens of OAuth clients, in bytes.
const maxJWT = 8192

// accessClaims are the claims of an access token that the server reads itself.
type accessClaims struct {
	Deployment int64        `json:"dep"`
	Audience   jwt.Audience `json:"aud"`
}

// parseJWT returns the deployment of an access token of an OAuth client, and its hash. The
// signature is for others: the server finds the token by its hash.
func parseJWT(text string) (deploymentID int64, sum []byte, err error) {
	claims, err := readClaims(text)
	if err != nil || claims.Deployment <= 0 {
		return 0, nil, errMalformed
	}
	return claims.Deployment, hash(text), nil
}

func readClaims(text string) (claims accessClaims, err error) {
	parts := strings.Split(text, ".")
	if len(text) > maxJWT || len(parts) != 3 {
		return claims, errMalformed
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	return claims, err
}

// audienceOf returns the resource that a token is for; empty for tokens of other kinds. An
// access token without exactly one audience is for no resource.
func audienceOf(text string) string {
	claims, err := readClaims(text)
	switch {
	case strings.Count(text, ".") != 2:
		return ""
	case err != nil || len(claims.Audience) != 1:
		return "none"
	}
	return claims.Audience[0]
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the runtime stops the program instead
	return encoding.EncodeToString(b)
}

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func checksum(body string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
}
