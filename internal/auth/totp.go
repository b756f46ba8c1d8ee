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
	// totpSeconds is how long a code of an authenticator app is shown.
	totpSeconds = 30
	// totpSecretBytes is as long as the hash that the code is made by.
	totpSecretBytes = 20
	// recoveryCodes is how many recovery codes somebody gets.
	recoveryCodes = 10
	// recoveryBytes is how many random bytes one has: enough that its plain hash
	// tells nothing.
	recoveryBytes = 10
	// enrolmentFor is how long a secret waits for its first code.
	enrolmentFor = 15 * time.Minute
)

// Enrolment is a secret that a user puts into an authenticator app. It holds once a
// code of it was shown.
type Enrolment struct {
	Secret  string // to type, in base 32
	Address string // to scan, as otpauth://totp/…
	// Sealed is the same for the form that brings the first code: of use to no
	// other user or session, and for a quarter of an hour.
	Sealed string
}

// newEnrolment makes the address of a secret; with none, it makes a secret.
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
		return Enrolment{}, fmt.Errorf("make the secret of an authenticator app: %w", err)
	}
	return Enrolment{Secret: key.Secret(), Address: key.URL()}, nil
}

// totpStep finds which step of the clock a code is of: this one, or the ones beside
// it, for clocks that differ. 0 is none.
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

// plainCode is a code without what people and apps put between its parts.
func plainCode(code string) string {
	if len(code) > maxSecret {
		return ""
	}
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(code))
}

// newRecoveryCodes makes recovery codes, as abcd-efgh-ijkl-mnop, and their hashes.
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

// rowOf is what the secret of a user is bound to in the database.
func rowOf(userID int64) []byte { return fmt.Appendf(nil, "totp of user %d", userID) }

// formOf is what a secret is bound to that is not kept yet.
func formOf(who SessionInfo) []byte {
	return fmt.Appendf(nil, "totp to set up, of user %d in session %d", who.User.ID, who.Session.ID)
}

// stamp puts the end of its time before a text, and read takes it off again.
func stamp(until time.Time, text []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(until.Unix())), text...) //nolint:gosec // a time after 1970
}

func readStamped(text []byte, now time.Time) ([]byte, error) {
	const size = 8
	if len(text) < size || uint64(now.Unix()) >= binary.BigEndian.Uint64(text) { //nolint:gosec // a time after 1970
		return nil, model.Invalid("code", "the secret waited for it too long: start again")
	}
	return text[size:], nil
}
