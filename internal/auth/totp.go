package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/redoubt/redoubt/internal/model"
)

const (
	// totpSeconds is the period of the codes of an authenticator app.
	totpSeconds = 30
	// totpSecretBytes equals the length of the hash that generates codes.
	totpSecretBytes = 20
	// recoveryCodes is the number of recovery codes of a user.
	recoveryCodes = 10
	// recoveryBytes is the number of random bytes of a recovery code. It is large enough for an
	// unsalted hash.
	recoveryBytes = 10
	// enrolmentFor is the time in which a new secret must be confirmed by its first code.
	enrolmentFor = 15 * time.Minute
)

// Enrolment is a new secret for an authenticator app. It takes effect once its first code is
// verified.
type Enrolment struct {
	Secret  string // for manual input, in base 32
	Address string // for scanning, as otpauth://totp/…
	// Sealed is the encrypted secret for the form with the first code. It is valid for the same
	// user and session, and for 15 minutes.
	Sealed string
}

// newEnrolment returns the address of a secret. It generates a secret if there is none.
func newEnrolment(issuer, name string, secret []byte) (Enrolment, error) {
	opts := totp.GenerateOpts{
		Issuer:      strings.ReplaceAll(issuer, ":", " "),
		AccountName: name,
		Period:      totpSeconds,
		SecretSize:  totpSecretBytes,
		Secret:      secret,
	}
	key, err := totp.Generate(opts)
	if err != nil {
		return Enrolment{}, fmt.Errorf("create the secret of an authenticator app: %w", err)
	}
	return Enrolment{Secret: key.Secret(), Address: key.URL()}, nil
}

// totpStep returns the time step of a code, or 0. It accepts the current step and the adjacent
// ones, for clocks that differ.
func totpStep(secret, code string, now time.Time) int64 {
	at := now.Unix() / totpSeconds
	for _, step := range []int64{at, at - 1, at + 1} {
		counter := uint64(step) //nolint:gosec // a time after 1970
		ok, err := hotp.ValidateCustom(code, counter, secret, hotp.ValidateOpts{
			Digits:    otp.DigitsSix,
			Algorithm: otp.AlgorithmSHA1,
		})
		if ok && err == nil {
			return step
		}
	}
	return 0
}

// plainCode removes spaces and hyphens from a code.
func plainCode(code string) string {
	if len(code) > maxSecret {
		return ""
	}
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

// newRecoveryCodes returns recovery codes, such as abcd-efgh-ijkl-mnop, and their hashes.
func newRecoveryCodes() (texts []string, hashes [][]byte) {
	for range recoveryCodes {
		code := random(recoveryBytes)
		hashes = append(hashes, recoveryHash(code))
		texts = append(texts, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
	}
	return texts, hashes
}

func recoveryHash(plain string) []byte {
	sum := sha256.Sum256([]byte("recovery code " + plain))
	return sum[:]
}

// rowOf returns the additional data that binds a stored secret to its user.
func rowOf(userID int64) []byte { return fmt.Appendf(nil, "totp of user %d", userID) }

// formOf returns the additional data that binds an unconfirmed secret to its user and session.
func formOf(who SessionInfo) []byte {
	return fmt.Appendf(nil, "totp to set up, of user %d in session %d", who.User.ID, who.Session.ID)
}

// stamp prefixes a text with its expiry. readStamped removes and checks it.
func stamp(until time.Time, text []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(until.Unix())), text...) //nolint:gosec // a time after 1970
}

func readStamped(text []byte, now time.Time) ([]byte, error) {
	const size = 8
	if len(text) < size || uint64(now.Unix()) >= binary.BigEndian.Uint64(text) { //nolint:gosec // a time after 1970
		return nil, model.Invalid("code", "the secret has expired: start again")
	}
	return text[size:], nil
}
