package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/internal/httpx"
)

// Cursors encodes and decodes positions in lists. Each cursor has a checksum, keyed by the server,
// of its list: operation, deployment, filter and the caller's visible projects. Altered cursors,
// and cursors with other filters, are rejected (docs/reference/requests.md).
type Cursors struct {
	Key []byte
	Old [][]byte // previous keys, still accepted
}

// Cursors returns cursors with the current signing keys.
func (s *Server) Cursors() (c Cursors) {
	for i, key := range s.SigningKeys.All() {
		if key = httpx.DeriveKey(key, "cursor"); i == 0 {
			c.Key = key
		} else {
			c.Old = append(c.Old, key)
		}
	}
	return c
}

// List identifies the list of a cursor. Filter may be any value that encodes equally for the same
// selection. It must not contain the page size.
type List struct {
	Operation  string
	Deployment int64
	Filter     any
}

// List returns a list of the caller's deployment.
func (c *Call) List(operation string, filter any) List {
	return List{Operation: operation, Deployment: c.Caller.Deployment.ID, Filter: filter}
}

// IDPosition is a position in a list that is ordered by one id.
type IDPosition struct {
	List  List
	After int64 // 0 is the start
}

// Find decodes the cursor of a query, for a list of the caller's deployment. A cursor of another
// list is an error.
func (p *IDPosition) Find(ctx huma.Context, operation string, filter any, cursor string) []error {
	c := CallOf(ctx.Context())
	p.List = List{operation, c.Caller.Deployment.ID, filter}
	position, err := c.Server.Cursors().Decode(p.List, cursor, 1)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Message: err.Error(), Value: cursor}}
	}
	if position != nil {
		p.After = position[0]
	}
	return nil
}

const (
	cursorVersion = 1
	cursorSum     = 12 // bytes of checksum
)

// numeric is the format of a cursor that is a number. The lower bits contain the position, the
// upper bits a checksum. The sign bit is 0 for clients that read signed integers.
type numeric struct{ PositionBits, sumBits int }

var (
	// AsText is the format of a position that is sent as a string.
	AsText = numeric{40, 23}
	// AsNumber is the format of a position that is sent as a number. It is below 2^53, so
	// JavaScript reads it exactly.
	AsNumber = numeric{32, 21}
)

var errCursor = errors.New("is not a cursor of this list: it was altered, or it belongs to other filters; " +
	"start over without a cursor")

// starts reports whether a cursor means the start of a list. It is empty, or 0 from clients that
// count from 0 (docs/reference/requests.md).
func starts(cursor string) bool { return cursor == "" || cursor == "0" }

// Encode encodes a position as text.
func (c Cursors) Encode(l List, position ...int64) (string, error) {
	b := []byte{cursorVersion}
	for _, n := range position {
		b = binary.AppendVarint(b, n)
	}
	sum, err := c.sum(l, b)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(b, sum[:cursorSum]...)), nil
}

// Decode decodes a position of n numbers. It returns nil for a cursor that starts the list.
func (c Cursors) Decode(l List, text string, n int) ([]int64, error) {
	if starts(text) {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= cursorSum || b[0] != cursorVersion {
		return nil, errCursor
	}
	body, sent := b[:len(b)-cursorSum], b[len(b)-cursorSum:]
	believed, err := c.anyKey(func(c Cursors) (bool, error) {
		sum, err := c.sum(l, body)
		return hmac.Equal(sent, sum[:cursorSum]), err
	})
	if err != nil {
		return nil, err
	}
	if !believed {
		return nil, errCursor
	}
	position := make([]int64, n)
	body = body[1:]
	for i := range position {
		v, size := binary.Varint(body)
		if size <= 0 {
			return nil, errCursor
		}
		position[i], body = v, body[size:]
	}
	if len(body) > 0 {
		return nil, errCursor
	}
	return position, nil
}

// EncodeNumber encodes a position as a decimal uint64, which the contract requires for cursors of
// dependencies. It returns an error if the position is out of range.
func (c Cursors) EncodeNumber(as numeric, l List, position int64) (string, error) {
	if position < 0 || position >= 1<<as.PositionBits {
		return "", fmt.Errorf("position %d does not fit a numeric cursor", position)
	}
	sum, err := c.numberSum(as, l, position)
	return strconv.FormatUint(sum<<as.PositionBits|uint64(position), 10), err
}

// DecodeNumber decodes the text of EncodeNumber. It returns 0 for a cursor that starts the list.
func (c Cursors) DecodeNumber(as numeric, l List, text string) (int64, error) {
	if starts(text) {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, errCursor
	}
	position := int64(n & (1<<as.PositionBits - 1))
	believed, err := c.anyKey(func(c Cursors) (bool, error) {
		sum, err := c.numberSum(as, l, position)
		return sum == n>>as.PositionBits, err
	})
	if err != nil {
		return 0, err
	}
	if !believed {
		return 0, errCursor
	}
	return position, nil
}

// anyKey reports whether matches is true for the current key or a previous one.
func (c Cursors) anyKey(matches func(Cursors) (bool, error)) (bool, error) {
	ok, err := matches(c)
	for _, key := range c.Old {
		if err == nil && !ok {
			ok, err = matches(Cursors{Key: key})
		}
	}
	return ok, err
}

func (c Cursors) numberSum(as numeric, l List, position int64) (uint64, error) {
	sum, err := c.sum(l, binary.BigEndian.AppendUint64(nil, uint64(position)))
	return binary.BigEndian.Uint64(sum) & (1<<as.sumBits - 1), err
}

func (c Cursors) sum(l List, body []byte) ([]byte, error) {
	about, err := json.Marshal([]any{l.Operation, l.Deployment, l.Filter})
	if err != nil {
		return make([]byte, sha256.Size), fmt.Errorf("compute the checksum of a cursor: %w", err)
	}
	mac := hmac.New(sha256.New, c.Key)
	mac.Write(binary.AppendUvarint([]byte("cursor"), uint64(len(about))))
	mac.Write(about)
	mac.Write(body)
	return mac.Sum(nil), nil
}
