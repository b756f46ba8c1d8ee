package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// cheap makes hashing fast enough for tests.
var cheap = cost{memory: 64, passes: 1, threads: 1}

func TestPasswordRoundTrip(t *testing.T) {
	p := newPasswords(cheap)
	hash, err := p.Hash(t.Context(), "correct horse battery")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("hash %q, %v", hash, err)
	}
	if second, _ := p.Hash(t.Context(), "correct horse battery"); second == hash {
		t.Error("two hashes of a password are the same: there is no salt")
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterz": false, "": false} {
		if ok, rehash, err := p.Check(t.Context(), hash, password); ok != want || rehash != "" || err != nil {
			t.Errorf("%q: %v, rehash %q, %v", password, ok, rehash, err)
		}
	}
}

func TestPasswordIsRehashedAfterCostChange(t *testing.T) {
	hash, err := newPasswords(cheap).Hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	p := newPasswords(cost{memory: 128, passes: 2, threads: 1})
	ok, rehash, err := p.Check(t.Context(), hash, "correct horse battery")
	if !ok || err != nil || !strings.Contains(rehash, "$m=128,t=2,p=1$") {
		t.Fatalf("%v, rehash %q, %v", ok, rehash, err)
	}
	if ok, second, err := p.Check(t.Context(), rehash, "correct horse battery"); !ok || second != "" || err != nil {
		t.Errorf("the new hash: %v, rehash %q, %v", ok, second, err)
	}
	if ok, rehash, _ := p.Check(t.Context(), hash, "wrong"); ok || rehash != "" {
		t.Error("a wrong password was rehashed")
	}
}

func TestUnknownUserHashCostIsEqual(t *testing.T) {
	p := newPasswords(cheap)
	if c, _, _, err := decode(p.decoy); err != nil || c != p.cost {
		t.Fatalf("the decoy costs %v, %v, want %v", c, err, p.cost)
	}
	// The decoy is hashed like any other: with a canceled context it fails in the same manner.
	for range atOnce {
		p.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.Check(ctx, "", "guess"); !errors.Is(err, context.Canceled) {
		t.Errorf("without a hash nothing is hashed: %v", err)
	}
	<-p.slots
	if ok, _, err := p.Check(t.Context(), "", strings.Repeat("\x00", 32)); ok || err != nil {
		t.Errorf("without a hash a password was taken: %v, %v", ok, err)
	}
}

func TestInvalidHashesReturnError(t *testing.T) {
	p := newPasswords(cheap)
	good, err := p.Hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{
		"plain", "$2y$10$abcdefghijklmnopqrstuv", good + "$", good[:len(good)-4], strings.Replace(good, "m=64", "m=4294967295", 1),
		strings.Replace(good, "t=1", "t=0", 1), strings.Replace(good, "p=1", "p=1x", 1), strings.Replace(good, "argon2id", "argon2i", 1),
	} {
		if ok, _, err := p.Check(t.Context(), hash, "correct horse battery"); ok || !errors.Is(err, errHash) {
			t.Errorf("%q: %v, %v", hash, ok, err)
		}
	}
}

func FuzzDecodeHash(f *testing.F) {
	f.Add("$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, hash string) {
		c, salt, key, err := decode(hash)
		if err == nil && encode(c, salt, key) != hash {
			t.Errorf("%q is read as %v", hash, c)
		}
	})
}

// TestHashCostLimits checks that hashes with the maximum cost are accepted. Those with a higher
// cost, or a short salt or key, are rejected.
func TestHashCostLimits(t *testing.T) {
	salt, key := make([]byte, 8), make([]byte, keyBytes)
	for name, tt := range map[string]struct {
		c         cost
		salt, key []byte
		want      bool
	}{
		"as dear as may be": {dearest, salt, key, true},
		"more memory":       {cost{dearest.memory + 1, dearest.passes, dearest.threads}, salt, key, false},
		"more passes":       {cost{dearest.memory, dearest.passes + 1, dearest.threads}, salt, key, false},
		"more threads":      {cost{dearest.memory, dearest.passes, dearest.threads + 1}, salt, key, false},
		"no passes":         {cost{dearest.memory, 0, 1}, salt, key, false},
		"no threads":        {cost{dearest.memory, 1, 0}, salt, key, false},
		"a short salt":      {cheap, salt[1:], key, false},
		"a short key":       {cheap, salt, key[1:], false},
	} {
		if _, _, _, err := decode(encode(tt.c, tt.salt, tt.key)); (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
