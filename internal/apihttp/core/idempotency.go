package core

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// A write may have an idempotency key. Its response is stored by the transaction that does the
// work, and the next request reads it before any work. Writes of a deployment are serialized, so a
// second request waits for a running first one. Rejected requests changed nothing, so their
// responses are not stored.

// idempotencyKey is the header of the key.
const idempotencyKey = "Idempotency-Key"

// keyPattern matches valid keys.
const keyPattern = `^[!-~]{1,200}$`

var goodKey = regexp.MustCompile(keyPattern)

// idempotentRequest is a request with a key.
type idempotentRequest struct {
	key    string
	sum    hash.Hash                                // hash of the parts added so far
	stored func(out any) any                        // returns the stored part of a response; nil stores all
	read   func(ctx context.Context, out any) error // completes a stored response; nil if it is complete
	pass   bool                                     // the response reports a transient failure and is not stored
}

// MayPass marks the response as a transient failure, so that it is not stored and the request can
// be retried. The receiver may be nil.
func (o *idempotentRequest) MayPass() {
	if o != nil {
		o.pass = true
	}
}

// Store defines which part of the response is stored, and how a stored one is completed. The
// receiver may be nil.
func (o *idempotentRequest) Store(stored func(out any) any, read func(ctx context.Context, out any) error) {
	if o != nil {
		o.stored, o.read = stored, read
	}
}

// newIdempotentRequest reads the key of a request. It returns nil without a key.
func newIdempotentRequest(r *http.Request) (*idempotentRequest, error) {
	sent := r.Header.Values(idempotencyKey)
	switch {
	case len(sent) == 0:
		return nil, nil
	case len(sent) > 1 || !goodKey.MatchString(sent[0]):
		return nil, model.Invalid(
			"header."+idempotencyKey, "expected one key of 1 to 200 visible ASCII characters, for example a UUID",
		)
	}
	return &idempotentRequest{key: sent[0], sum: sha256.New()}, nil
}

// Add adds parts of the request to its hash. Each part has a length prefix, so that different
// requests never hash the same text. The receiver may be nil.
func (o *idempotentRequest) Add(parts ...string) {
	if o == nil {
		return
	}
	for _, part := range parts {
		o.sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		o.sum.Write([]byte(part))
	}
}

// Members adds the members of a struct to the hash, independent of their order in the request.
func (o *idempotentRequest) Members(v any) error {
	if o == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	o.Add(string(text))
	return nil
}

// File passes a file of the request to read and adds its whole content to the hash. The function
// read may leave a part unread.
func (o *idempotentRequest) File(body io.Reader, name string, read func(io.Reader) error) error {
	if o == nil {
		return read(body)
	}
	sum := sha256.New()
	body = io.TeeReader(body, sum)
	if err := read(body); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return BodyFault(err)
	}
	o.Add("file", name, string(sum.Sum(nil)))
	return nil
}

// Keyed returns a handler that accepts an idempotency key. It must change the deployment by a
// single call of RunIdempotent.
func Keyed(h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.keyed = true
		o.described.Parameters = append(o.described.Parameters, &huma.Param{
			Name: idempotencyKey, In: "header", Example: "0b6e2f1c-8f0e-4c55-9a4e-3f2f6d1f7a10",
			Description: "Identifies the request in the deployment for a day. A repeated request with the same key, " +
				"path and body returns the stored response and has no effect. With another path or body, it is a " +
				"conflict. While the first request is in progress, the second waits.",
			Schema: &huma.Schema{Type: huma.TypeString, Pattern: keyPattern},
		})
		o.fails(http.StatusConflict)
		h(a, o)
		o.answers(replayedHeader, "true if this is the stored response of the same key.")
	}
}

// replayedHeader marks a stored response.
const replayedHeader = "Idempotency-Replayed"

// storedAnswer is the format of a stored response.
type storedAnswer struct {
	Tag  string          `json:"tag,omitempty"` // ETag header
	Body json.RawMessage `json:"body"`
}

// RunIdempotent runs fn in a transaction of the deployment. If a request with the same key was
// handled before, it returns the stored response instead.
func RunIdempotent[Out any](
	ctx context.Context, c *Call, fn func(context.Context) (*Out, error),
) (out *Out, err error) {
	err = c.Update(ctx, func(ctx context.Context) error {
		if c.Idempotent == nil {
			out, err = fn(ctx)
			return err
		}
		out = new(Out)
		if replayed, err := c.replay(ctx, out); replayed || err != nil {
			return err
		}
		if out, err = fn(ctx); err != nil {
			return err
		}
		if c.Idempotent.pass {
			return nil
		}
		return c.StoreResponse(ctx, out)
	})
	return out, err
}

// RunPrepared is RunIdempotent with a preparation that is slow or sends requests to other servers.
// The preparation runs outside of any transaction, and not for a repeated request.
func RunPrepared[P, Out any](
	ctx context.Context, c *Call, prepare func(context.Context) (P, error), fn func(context.Context, P) (*Out, error),
) (*Out, error) {
	if c.Idempotent != nil {
		out, replayed := new(Out), false
		err := c.View(ctx, func(ctx context.Context) (err error) {
			replayed, err = c.replay(ctx, out)
			return err
		})
		if err != nil || replayed {
			return out, err
		}
	}
	prepared, err := prepare(ctx)
	if err != nil {
		return nil, err
	}
	return RunIdempotent(ctx, c, func(ctx context.Context) (*Out, error) { return fn(ctx, prepared) })
}

// replay reads the stored response to the request into out.
func (c *Call) replay(ctx context.Context, out any) (replayed bool, err error) {
	before, err := c.Tx.StoredAnswer(ctx, c.Idempotent.key)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(before.Request, c.requestHash()):
		return false, NewProblem(api.CodeConflict, "This Idempotency-Key was used for another request. "+
			"Send a new key with every new request. Repeat a key only with the same path and body.", nil)
	}
	answer, err := unpacked(before.Answer)
	if err != nil {
		return false, err
	}
	c.W.Header().Set(replayedHeader, "true")
	c.Tag = answer.Tag
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return true, err
	}
	if c.Idempotent.read != nil {
		return true, c.Idempotent.read(ctx, out)
	}
	return true, nil
}

// StoreResponse stores the response in the transaction that did the work.
func (c *Call) StoreResponse(ctx context.Context, out any) error {
	if c.Idempotent.stored != nil {
		out = c.Idempotent.stored(out)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode the response: %w", err)
	}
	answer, err := packed(storedAnswer{Tag: c.Tag, Body: body})
	if err != nil {
		return err
	}
	return c.Tx.StoreAnswer(ctx, model.StoredAnswer{Key: c.Idempotent.key, Request: c.requestHash(), Answer: answer})
}

// requestHash returns the hash of the whole request and of the token's visible projects. A stored
// response must not be sent to a token that sees fewer projects.
func (c *Call) requestHash() []byte {
	all := &idempotentRequest{sum: sha256.New()}
	all.Add(c.R.Method, c.R.URL.Path, c.R.URL.RawQuery, strings.Join(c.Caller.Globs(), "\n"),
		string(c.Idempotent.sum.Sum(nil)))
	return all.sum.Sum(nil)
}

// packed returns a compressed response: that of an import lists every finding.
func packed(k storedAnswer) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	err := errors.Join(json.NewEncoder(z).Encode(k), z.Close())
	return out.Bytes(), err
}

// StoredAnswer decodes a stored response.
func StoredAnswer(answer []byte, out any) error {
	k, err := unpacked(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(k.Body, out)
}

func unpacked(data []byte) (k storedAnswer, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(z).Decode(&k)
	}
	if err != nil {
		return k, fmt.Errorf("read a stored response: %w", err)
	}
	return k, nil
}
