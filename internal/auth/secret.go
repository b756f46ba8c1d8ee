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

// prefix marks tokens of this server, for people and secret scanners.
const prefix = "rdt"

// secretBytes is the number of random bytes in a token (docs/reference/tokens.md).
const secretBytes = 32

// maxSecret limits the length of tokens that are parsed.
const maxSecret = 128

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

var errMalformed = errors.New("not a token of this server")

// Secret is a new credential. Text is shown once; only Hash is stored.
type Secret struct {
	Text     string
	Hash     []byte // SHA-256 of Text
	PublicID string // identifies the token in lists and logs; unrelated to the secret
}

// NewSecret returns a credential for a deployment: rdt_<deployment, base 36>_<32 random bytes, base
// 32>_<checksum>. The deployment is included so that the lookup is limited to one tenant. The
// checksum detects mistyped tokens without the store.
func NewSecret(deploymentID int64) Secret {
	body := fmt.Sprintf("%s_%s_%s", prefix, strconv.FormatInt(deploymentID, 36), random(secretBytes))
	text := body + "_" + checksum(body)
	return Secret{Text: text, Hash: hash(text), PublicID: NewPublicID()}
}

// NewPublicID returns an identifier of a token for lists and logs.
func NewPublicID() string { return "tok_" + random(10) }

// NewTaskToken returns an unguessable name for a job of a deployment.
func NewTaskToken() string { return "task_" + random(20) }

// ParseSecret returns the deployment of a token and the hash to look up. It rejects malformed
// tokens without the store.
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

// maxJWT limits the access tokens of OAuth clients, in bytes.
const maxJWT = 8192

// accessClaims are the claims of an access token that the server reads itself.
type accessClaims struct {
	Deployment int64        `json:"dep"`
	Audience   jwt.Audience `json:"aud"`
}

// parseJWT returns the deployment of an OAuth client's access token, and its hash. It does not
// verify the signature, because the server finds the token by its hash.
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

// audienceOf returns the resource of an access token, or "" for tokens of other kinds. It returns
// "none" for an access token without exactly one audience.
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
