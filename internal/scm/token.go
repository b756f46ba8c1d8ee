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

// asker tells those who ask a host apart: by the account that a connection has there, and what
// proves it. It stays when a token that is made of that is another; what is shown cannot be
// read from it.
type asker [sha256.Size]byte

// askerOf is who asks by a connection.
func askerOf(c model.Connection, shown model.HostCredential) asker {
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %d %d",
		c.Kind, c.BaseURL, shown.Kind, shown.Username, shown.Secret, shown.AppID, shown.InstallationID))
}

// A token is shown until so long before it ends, and for so long at most: GitHub's last as long.
const (
	tokenSpare = 5 * time.Minute
	tokenMost  = time.Hour
	tokenFresh = time.Minute // one that is younger lacks no right that was given since
)

// Tokens keeps what hosts made for the installations of apps to show, so that not each round
// of questions begins with another. It is safe for concurrent use.
type Tokens struct {
	mu sync.Mutex
	of map[asker]madeToken
}

type madeToken struct {
	text  string
	made  time.Time
	until time.Time // when another is to be made
	asked time.Time // when it was looked for last
}

// NewTokens makes one that has none.
func NewTokens() *Tokens { return &Tokens{of: map[asker]madeToken{}} }

// find returns the token of an installation, if it is in force for a while yet.
func (k *Tokens) find(who asker, now time.Time) (text string, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, is := k.of[who]
	if is {
		t.asked = now
		k.of[who] = t
	}
	return t.text, is && now.Before(t.until)
}

// put keeps a token that ends at a time, and forgets those that are over.
func (k *Tokens) put(who asker, text string, now, ends time.Time) {
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

// forget drops those of who asked nothing since a time.
func (k *Tokens) forget(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for who, t := range k.of {
		if t.asked.Before(before) {
			delete(k.of, who)
		}
	}
}

// lacks reports whether a host refused what a token may not do that was made a while ago: the
// app may have been given the right since, and tokens have what was theirs when they were made.
func (k *Tokens) lacks(who asker, text string, refused error, now time.Time) bool {
	no, is := errors.AsType[*HostError](refused)
	if !is || no.Status != http.StatusForbidden {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.of[who]
	return t.text == text && now.Sub(t.made) >= tokenFresh
}

// drop forgets a token that the host takes no more, unless there is another by now.
func (k *Tokens) drop(who asker, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[who].text == text {
		delete(k.of, who)
	}
}
