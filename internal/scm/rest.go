package scm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// rest is a client of a JSON API.
type rest struct {
	base   string // base URL of the API, without a trailing slash
	http   *http.Client
	header http.Header // sent with each request: the credential
}

// at joins escaped parts to a path of the API. Escaping ensures that no part, which users may
// choose, changes the path.
func at(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		text := fmt.Sprint(p)
		if text == "." || text == ".." {
			text = strings.ReplaceAll(text, ".", "%2E")
		} else {
			text = url.PathEscape(text)
		}
		b.WriteString("/" + text)
	}
	return b.String()
}

// page returns the query of a page of a list.
func page(n int, more ...string) string {
	q := url.Values{"page": {strconv.Itoa(n)}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "?" + q.Encode()
}

// send sends a request and decodes the response into into, unless that is nil.
func (r rest) send(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, method, r.base+path, sent)
	if err != nil {
		return fmt.Errorf("invalid address of the host: %w", model.ErrNotFound)
	}
	q.Header = r.header.Clone()
	q.Header.Set("Accept", "application/json")
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	answer, err := r.http.Do(q)
	if err != nil {
		return explained(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && into != nil {
		if err = json.Unmarshal(text, into); err != nil {
			err = errors.New("the response does not match the API: check the address")
		}
	}
	return explained(err)
}

// listed requests a list page by page until a page is empty. handle receives each page and returns
// whether to continue.
func listed[T any](
	ctx context.Context, r rest, path func(page int) string, handle func([]T) (more bool, err error),
) error {
	for n := 1; n <= maxPages; n++ {
		var list []T
		if err := r.send(ctx, http.MethodGet, path(n), nil, &list); err != nil {
			return err
		}
		if more, err := handle(list); err != nil || !more || len(list) == 0 {
			return err
		}
	}
	return fmt.Errorf("the host's list has too many pages: %w", model.ErrTooLarge)
}
