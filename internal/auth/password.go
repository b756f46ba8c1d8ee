package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// cost contains the argon2id parameters.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

// usualCost is the recommendation of OWASP for argon2id.
var usualCost = cost{memory: 19 << 10, passes: 2, threads: 1}

// dearest limits the parameters of stored hashes: 1 GiB, 16 passes.
var dearest = cost{memory: 1 << 20, passes: 16, threads: 16}

const (
	saltBytes = 16
	keyBytes  = 32
	// atOnce limits concurrent hash computations, which take 19 MiB each.
	atOnce = 4
)

// Passwords hashes and checks passwords with argon2id. It is safe for concurrent use.
type Passwords struct {
	cost  cost
	slots chan struct{}
	decoy string // hash without a known password
}

// NewPasswords returns Passwords with the usual cost.
func NewPasswords() *Passwords { return newPasswords(usualCost) }

func newPasswords(c cost) *Passwords {
	return &Passwords{
		cost:  c,
		slots: make(chan struct{}, atOnce),
		decoy: encode(c, make([]byte, saltBytes), make([]byte, keyBytes)),
	}
}

// Hash returns the PHC string of a password: algorithm, cost, salt and key.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails: the runtime stops the program instead
	key, err := p.key(ctx, p.cost, password, salt)
	if err != nil {
		return "", err
	}
	return encode(p.cost, salt, key), nil
}

// Check reports whether the password matches the hash. For an empty hash it takes the same time and
// returns false, so that timing does not reveal existing users. A non-empty rehash should replace
// the stored hash, because the cost has changed.
func (p *Passwords) Check(ctx context.Context, hash, password string) (ok bool, rehash string, err error) {
	if hash == "" {
		_, _, err = p.Check(ctx, p.decoy, password)
		return false, "", err
	}
	c, salt, want, err := decode(hash)
	if err != nil {
		return false, "", err
	}
	key, err := p.key(ctx, c, password, salt)
	if err != nil || subtle.ConstantTimeCompare(key, want) == 0 {
		return false, "", err
	}
	if c != p.cost {
		rehash, err = p.Hash(ctx, password)
	}
	return true, rehash, err
}

// key computes a hash. It waits for a free slot, so that concurrent sign-ins cannot exhaust the
// memory.
func (p *Passwords) key(ctx context.Context, c cost, password string, salt []byte) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.threads, keyBytes), nil
}

var phc = base64.RawStdEncoding.Strict()

func encode(c cost, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.passes, c.threads, phc.EncodeToString(salt), phc.EncodeToString(key))
}

// errHash does not contain the hash.
var errHash = errors.New("the stored password hash is not argon2id: reset the password with redoubt user reset")

func decode(hash string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprint("v=", argon2.Version) {
		return c, nil, nil, errHash
	}
	n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.threads)
	if err != nil || n != 3 || c.passes < 1 || c.threads < 1 || c.memory > dearest.memory || c.passes > dearest.passes ||
		c.threads > dearest.threads {
		return c, nil, nil, errHash
	}
	salt, errSalt := phc.DecodeString(parts[4])
	key, errKey := phc.DecodeString(parts[5])
	if errSalt != nil || errKey != nil || len(salt) < 8 || len(key) != keyBytes || encode(c, salt, key) != hash {
		return c, nil, nil, errHash
	}
	return c, salt, key, nil
}
