package scm

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of the cached responses, in bytes: of all responses, and of one.
const (
	maxKnown       = 16 << 20
	maxKnownAnswer = 512 << 10
)

// Known caches responses that have an ETag. Every request is still sent, but with the ETag:
// GitHub's rate limit does not count responses without changes. If the cache is full, entries of
// its largest user are removed, so that others retain a fair share. It is safe for concurrent use.
type Known struct {
	mu   sync.Mutex
	by   map[requester]*knownBy
	size int // total bytes
}

// knownBy is the cache of one asker.
type knownBy struct {
	of          map[[sha256.Size]byte]*list.Element // by request
	newest      *list.List                          // of knownAnswer; the most recently used is at the front
	size        int                                 // bytes
	lastRequest time.Time                           // time of the last request
}

// knownAnswer is a cached response.
type knownAnswer struct {
	question [sha256.Size]byte
	header   http.Header
	body     []byte
}

// NewKnown returns an empty Known.
func NewKnown() *Known { return &Known{by: map[requester]*knownBy{}} }

// revalidating returns a transport that revalidates cached responses of one asker. A nil Known returns
// base.
func (k *Known) revalidating(base http.RoundTripper, who requester, clock func() time.Time) http.RoundTripper {
	if k == nil {
		return base
	}
	return conditional{base, k, who, clock}
}

// shown are the headers that contain credentials.
var shown = map[string]bool{"Authorization": true, "Private-Token": true}

// conditional is a transport that sends the ETags of cached responses.
type conditional struct {
	base  http.RoundTripper
	known *Known
	who   requester
	clock func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (c conditional) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return c.base.RoundTrip(r)
	}
	question := questionOf(r)
	before := c.known.find(c.who, question, c.clock())
	if before != nil {
		r = r.Clone(r.Context())
		r.Header.Set("If-None-Match", before.header.Get("ETag"))
	}
	answer, err := c.base.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotModified && before != nil:
		_ = answer.Body.Close()
		return before.response(r, answer.Header), nil
	case answer.StatusCode != http.StatusOK || answer.Header.Get("ETag") == "":
		return answer, nil
	}
	return c.cacheResponse(question, r.URL, answer)
}

// cacheResponse caches a response if it is at most maxKnownAnswer bytes long. A longer response is passed on
// without buffering the rest.
func (c conditional) cacheResponse(
	question [sha256.Size]byte, requested *url.URL, answer *http.Response,
) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKnownAnswer+1))
	if err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	if len(body) <= maxKnownAnswer && !mayGoOn(requested, answer.Header, body) {
		c.known.put(c.who, &knownAnswer{question, answer.Header.Clone(), body}, c.clock())
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), answer.Body), answer.Body}
	return answer, nil
}

// mayGoOn reports whether a response is a full page and the last of a list. Such a response is not
// cached: GitHub announces a further page only in a header, and reports the page itself as
// unchanged.
func mayGoOn(requested *url.URL, header http.Header, body []byte) bool {
	size, err := strconv.Atoi(requested.Query().Get("per_page"))
	if err != nil || strings.Contains(header.Get("Link"), `rel="next"`) {
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil {
		return len(list) >= size
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return true
	}
	for _, member := range members {
		if json.Unmarshal(member, &list) == nil && len(list) >= size {
			return true
		}
	}
	return false
}

// questionOf returns a hash of a request without its credential, because the token of an app
// changes every hour.
func questionOf(r *http.Request) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", r.URL)
	_ = r.Header.WriteSubset(h, shown) // WriteSubset writes the headers in sorted order; writing to a hash never fails
	h.Sum(sum[:0])
	return sum
}

// find returns the cached response to a request, or nil, and sets the time of the asker's last
// request.
func (k *Known) find(who requester, question [sha256.Size]byte, now time.Time) *knownAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.by[who]
	if one == nil {
		return nil
	}
	one.lastRequest = now
	at, is := one.of[question]
	if !is {
		return nil
	}
	one.newest.MoveToFront(at)
	return at.Value.(*knownAnswer)
}

// put caches a response. If the cache is full, it removes the least recently used entries of the
// largest user.
func (k *Known) put(who requester, a *knownAnswer, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.by[who]
	if one == nil {
		one = &knownBy{of: map[[sha256.Size]byte]*list.Element{}, newest: list.New()}
		k.by[who] = one
	}
	one.lastRequest = now
	k.drop(one, one.of[a.question])
	one.of[a.question] = one.newest.PushFront(a)
	one.size += a.weight()
	for k.size += a.weight(); k.size > maxKnown; {
		most := one
		for _, other := range k.by {
			if other.size > most.size {
				most = other
			}
		}
		k.drop(most, most.newest.Back())
	}
}

func (k *Known) drop(of *knownBy, at *list.Element) {
	if at == nil {
		return
	}
	a := of.newest.Remove(at).(*knownAnswer)
	delete(of.of, a.question)
	of.size -= a.weight()
	k.size -= a.weight()
}

// forget removes the responses of askers without a request since a time.
func (k *Known) forget(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for who, one := range k.by {
		if one.lastRequest.Before(before) {
			k.size -= one.size
			delete(k.by, who)
		}
	}
}

// weight returns the approximate size of a response in bytes. The transport limits headers.
func (a *knownAnswer) weight() int {
	n := len(a.body) + 512
	for name, values := range a.header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// response returns the cached response with the headers of the new one (RFC 9111, section 4.3.4).
func (a *knownAnswer) response(r *http.Request, fresh http.Header) *http.Response {
	header := a.header.Clone()
	for name, values := range fresh {
		if name != "Content-Length" {
			header[name] = values
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}
