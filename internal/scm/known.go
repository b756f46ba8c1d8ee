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
)

// Bounds of what is kept of hosts' answers, in bytes.
const (
	maxKnown       = 16 << 20
	maxKnownAnswer = 512 << 10
)

// Known keeps answers of hosts that carry an ETag, so that a question put again costs a host
// little: GitHub counts no answer that says that nothing changed. Nothing is answered without
// asking. It is safe for concurrent use.
type Known struct {
	mu     sync.Mutex
	of     map[[sha256.Size]byte]*list.Element // by question
	newest *list.List                          // of knownAnswer; what was asked for last is at the front
	size   int                                 // bytes of all
}

// knownAnswer is one that is kept.
type knownAnswer struct {
	question [sha256.Size]byte
	header   http.Header
	body     []byte
}

// NewKnown makes one that knows nothing.
func NewKnown() *Known { return &Known{of: map[[sha256.Size]byte]*list.Element{}, newest: list.New()} }

// asked has a transport, by which one asks, ask whether answers that are known still hold.
func (k *Known) asked(base http.RoundTripper, who asker) http.RoundTripper {
	if k == nil {
		return base
	}
	return conditional{base, k, who}
}

// shown are the headers in which a credential is.
var shown = map[string]bool{"Authorization": true, "Private-Token": true}

// conditional is a transport that asks with the ETag of what is known.
type conditional struct {
	base  http.RoundTripper
	known *Known
	who   asker
}

// RoundTrip implements http.RoundTripper.
func (c conditional) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return c.base.RoundTrip(r)
	}
	question := c.questionOf(r)
	before := c.known.find(question)
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
		c.known.put(&knownAnswer{question, answer.Header.Clone(), body})
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

// questionOf tells questions apart, also by who asks, and not by what is shown: an app shows
// another token each hour.
func (c conditional) questionOf(r *http.Request) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%x %s\n", c.who, r.URL)
	_ = r.Header.WriteSubset(h, shown) // sorted; a hash takes everything
	h.Sum(sum[:0])
	return sum
}

// find returns the answer to a question, nil where none is known.
func (k *Known) find(question [sha256.Size]byte) *knownAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, is := k.of[question]
	if !is {
		return nil
	}
	k.newest.MoveToFront(at)
	return at.Value.(*knownAnswer)
}

// put keeps an answer. Those that were not asked for longest make room.
func (k *Known) put(a *knownAnswer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(k.of[a.question])
	k.of[a.question] = k.newest.PushFront(a)
	for k.size += a.weight(); k.size > maxKnown; {
		k.drop(k.newest.Back())
	}
}

func (k *Known) drop(at *list.Element) {
	if at == nil {
		return
	}
	a := k.newest.Remove(at).(*knownAnswer)
	delete(k.of, a.question)
	k.size -= a.weight()
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
