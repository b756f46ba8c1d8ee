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

// Bounds of what is kept of hosts' answers, in bytes: of all, and of one answer.
const (
	maxKnown       = 16 << 20
	maxKnownAnswer = 512 << 10
)

// Known keeps answers of hosts that carry an ETag, so that a question put again costs a host
// little: GitHub counts no answer that says that nothing changed. Nothing is answered without
// asking. Who has the most of the room makes room, so that nobody loses a fair share of it to
// others. It is safe for concurrent use.
type Known struct {
	mu   sync.Mutex
	by   map[asker]*knownBy
	size int // bytes of all
}

// knownBy is what one who asks was answered.
type knownBy struct {
	of     map[[sha256.Size]byte]*list.Element // by question
	newest *list.List                          // of knownAnswer; what was asked for last is at the front
	size   int                                 // bytes
	asked  time.Time                           // when anything was asked last
}

// knownAnswer is one that is kept.
type knownAnswer struct {
	question [sha256.Size]byte
	header   http.Header
	body     []byte
}

// NewKnown makes one that knows nothing.
func NewKnown() *Known { return &Known{by: map[asker]*knownBy{}} }

// asked has a transport, by which one asks, ask whether answers that are known still hold.
func (k *Known) asked(base http.RoundTripper, who asker, clock func() time.Time) http.RoundTripper {
	if k == nil {
		return base
	}
	return conditional{base, k, who, clock}
}

// shown are the headers in which a credential is.
var shown = map[string]bool{"Authorization": true, "Private-Token": true}

// conditional is a transport that asks with the ETag of what is known.
type conditional struct {
	base  http.RoundTripper
	known *Known
	who   asker
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
	return c.keep(question, r.URL, answer)
}

// keep reads an answer that may be kept. One that is too long goes on as it comes.
func (c conditional) keep(question [sha256.Size]byte, asked *url.URL, answer *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKnownAnswer+1))
	if err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	if len(body) <= maxKnownAnswer && !mayGoOn(asked, answer.Header, body) {
		c.known.put(c.who, &knownAnswer{question, answer.Header.Clone(), body}, c.clock())
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), answer.Body), answer.Body}
	return answer, nil
}

// mayGoOn reports whether an answer is a full page of a list, and the last: GitHub tells in a
// header that there is another by now, and says of the page itself that it did not change.
func mayGoOn(asked *url.URL, header http.Header, body []byte) bool {
	size, err := strconv.Atoi(asked.Query().Get("per_page"))
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

// questionOf tells questions of one who asks apart, and not by what is shown: an app shows
// another token each hour.
func questionOf(r *http.Request) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", r.URL)
	_ = r.Header.WriteSubset(h, shown) // sorted; a hash takes everything
	h.Sum(sum[:0])
	return sum
}

// find returns the answer to a question that somebody asks now, nil where none is known.
func (k *Known) find(who asker, question [sha256.Size]byte, now time.Time) *knownAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.by[who]
	if one == nil {
		return nil
	}
	one.asked = now
	at, is := one.of[question]
	if !is {
		return nil
	}
	one.newest.MoveToFront(at)
	return at.Value.(*knownAnswer)
}

// put keeps an answer that somebody was given now. Of who has the most by then, those that were
// not asked for longest make room.
func (k *Known) put(who asker, a *knownAnswer, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.by[who]
	if one == nil {
		one = &knownBy{of: map[[sha256.Size]byte]*list.Element{}, newest: list.New()}
		k.by[who] = one
	}
	one.asked = now
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

// forget drops what is known of those who asked nothing since a time.
func (k *Known) forget(before time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for who, one := range k.by {
		if one.asked.Before(before) {
			k.size -= one.size
			delete(k.by, who)
		}
	}
}

// weight is about how many bytes an answer takes; headers are bounded by the transport.
func (a *knownAnswer) weight() int {
	n := len(a.body) + 512
	for name, values := range a.header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return n
}

// response is the answer as if the host had told it again, with what it told anew (RFC 9111
// §4.3.4).
func (a *knownAnswer) response(r *http.Request, anew http.Header) *http.Response {
	header := a.header.Clone()
	for name, values := range anew {
		if name != "Content-Length" {
			header[name] = values
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}
