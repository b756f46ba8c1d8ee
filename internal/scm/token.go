package scm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// requester identifies the sender of requests by a hash of the connection's account and its credential.
// It does not change when a new token is created from the credential, and does not reveal it.
type requester [sha256.Size]byte

// askerOf returns the asker of a connection.
func askerOf(c model.Connection, shown model.HostCredential) requester {
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %d %d",
		c.Kind, c.BaseURL, shown.Kind, shown.Username, shown.Secret, shown.AppID, shown.InstallationID))
}

// Lifetime of a cached token. GitHub's tokens expire after an hour.
const (
	tokenSpare = 5 * time.Minute
	tokenMost  = time.Hour
	tokenFresh = time.Minute // a younger token has the current permissions
)

// Tokens caches the tokens of app installations, so that they are not created for each round of
// requests. It is safe for concurrent use.
type Tokens struct {
	mu sync.Mutex
	of map[requester]madeToken
}

type madeToken struct {
	text   string
	made   time.Time
	until  time.Time // time after which it is replaced
	usedAt time.Time // time of the last use
}

// NewTokens returns an empty Tokens.
func NewTokens() *Tokens { return &Tokens{of: map[requester]madeToken{}} }

// find returns the token of an installation, and whether it is still valid.
func (k *Tokens) find(who requester, now time.Time) (text string, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, is := k.of[who]
	if is {
		t.usedAt = now
		k.of[who] = t
	}
	return t.text, is && now.Before(t.until)
}

// put caches a token that expires at a time, and removes expired tokens.
func (k *Tokens) put(who requester, text string, now, ends time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for of, t := range k.of {
		if !now.Before(t.until) {
			delete(k.of, of)
		}
	}
	if most := now.Add(tokenMost); ends.After(most) {
		ends = most
	}
	k.of[who] = madeToken{text, now, ends.Add(-tokenSpare), now}
}

// forget removes the tokens of askers without a request since a time.
func (k *Tokens) forget(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for who, t := range k.of {
		if t.usedAt.Before(before) {
			delete(k.of, who)
		}
	}
}

// lacks reports whether a rejected request may succeed with a new token. Tokens have the
// permissions of the app at their creation, so an older token may lack a permission that was
// granted later.
func (k *Tokens) lacks(who requester, text string, refused error, now time.Time) bool {
	no, is := errors.AsType[*HostError](refused)
	if !is || no.Status != http.StatusForbidden {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.of[who]
	return t.text == text && now.Sub(t.made) >= tokenFresh
}

// drop removes a rejected token, unless it was already replaced.
func (k *Tokens) drop(who requester, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[who].text == text {
		delete(k.of, who)
	}
}
