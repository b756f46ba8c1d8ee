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

// rest asks an API that speaks JSON.
type rest struct {
	base   string // of the API, without a slash at its end
	http   *http.Client
	header http.Header // what each question shows: the credential
}

// at is a path of the API: its parts are escaped, so that none of them, which others
// name, leads elsewhere.
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

// page asks for a part of a list.
func page(n int, more ...string) string {
	q := url.Values{"page": {strconv.Itoa(n)}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "?" + q.Encode()
}

// ask puts a question, and reads the answer into what into points at; nil reads none.
func (r rest) ask(ctx context.Context, method, path string, body, into any) error {
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
		return fmt.Errorf("the address of the host will not do: %w", model.ErrNotFound)
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
			err = errors.New("it answers something that is none of its API: is the address the right one?")
		}
	}
	return explained(err)
}

// listed asks for a list page by page, until one is not full, and hands each over; take
// says whether it wants more.
func listed[T any](
	ctx context.Context, r rest, path func(page int) string, take func([]T) (more bool, err error),
) error {
	for n := 1; n <= maxPages; n++ {
		var list []T
		if err := r.ask(ctx, http.MethodGet, path(n), nil, &list); err != nil {
			return err
		}
		if more, err := take(list); err != nil || !more || len(list) == 0 {
			return err
		}
	}
	return fmt.Errorf("the host's list does not end: %w", model.ErrTooLarge)
}
