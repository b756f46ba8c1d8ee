package notify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Limits of one attempt.
const (
	sendFor       = 15 * time.Second
	answerRead    = 4 << 10
	answerKept    = 500 // characters
	maxRetryAfter = time.Hour
	maxReason     = 1000 // characters, also of comments in messages
)

// message is a model.NotificationMessage with text.
type message struct{ model.NotificationMessage }

// more returns a note about findings that the message does not list.
func (m message) more() string {
	named := len(m.Findings)
	if m.Event == model.EventScanMissing {
		named = len(m.Projects)
	}
	if left := m.Count - named; left > 0 && named > 0 {
		return fmt.Sprintf("And %d more.", left)
	}
	return ""
}

// sending is a message to one receiver.
type sending struct {
	id       string // the same for each attempt
	sequence int64
	base     string // URL of the deployment's pages
	message  message
}

func (s sending) url(path string) string { return s.base + path }

func (s sending) finding(id int64) string { return fmt.Sprintf("%s/findings/%d", s.base, id) }

// newClient returns a client that connects only to allowed addresses. It follows no redirects and
// uses no proxy, because these would connect to addresses that were not checked.
func newClient(reach Reach) *http.Client {
	return &http.Client{
		Timeout:       sendFor,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: reach.Dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1,
			IdleConnTimeout: sendFor, TLSHandshakeTimeout: sendFor,
			MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
		},
	}
}

// answer is the response of a receiver.
type answer struct {
	status int
	text   string
	wait   time.Duration // requested delay; 0: none
}

// hushedFrom is the minimum length, in bytes, of an address part that may be a secret by itself.
const hushedFrom = 8

// hush removes the address and the secrets of a receiver from a text: some responses repeat the
// address.
func hush(text string, t model.NotificationTarget) string {
	parts := []string{
		t.URL, t.Secret, t.Before, strings.TrimPrefix(t.Secret, secretPrefix), strings.TrimPrefix(t.Before, secretPrefix),
	}
	if u, err := url.Parse(t.URL); err == nil {
		parts = append(parts, u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		for _, one := range strings.FieldsFunc(u.EscapedPath()+"&"+u.RawQuery, func(r rune) bool {
			return strings.ContainsRune("/&=;", r)
		}) {
			if len(one) >= hushedFrom {
				parts = append(parts, one)
			}
		}
	}
	for _, one := range parts {
		if plain, err := url.QueryUnescape(one); err == nil {
			parts = append(parts, plain)
		}
		if plain, err := url.PathUnescape(one); err == nil {
			parts = append(parts, plain)
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // the whole before its parts
	for _, one := range parts {
		if len(one) > 1 { // the path is often a slash
			text = strings.ReplaceAll(text, one, "…")
		}
	}
	return text
}

// post sends a message to the address of its receiver.
func (n *Notifier) post(
	ctx context.Context, r model.NotificationRule, t model.NotificationTarget, s sending,
) (a answer, err error) {
	var header http.Header
	var body []byte
	if r.Channel == model.ChannelWebhook {
		header, body, err = s.webhook(t, n.Clock())
	} else {
		header, body, err = s.chat(r.Channel)
	}
	if err != nil {
		return a, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return a, fmt.Errorf("the address is invalid")
	}
	request.Header = header
	request.Header.Set("User-Agent", n.Name)
	response, err := n.client.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, answerRead)) // a partial response is sufficient
	a = answer{response.StatusCode, cut(hush(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), t), answerKept), 0}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.wait = min(time.Duration(min(seconds, 1e6))*time.Second, maxRetryAfter)
	}
	return a, nil
}
