package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redoubt/redoubt/internal/report/read"
)

// Walker reads a JSON document item by item, so that only one item is in memory at a time.
type Walker struct {
	dec *json.Decoder
	In  *Input
}

// Walker returns a Walker of the document.
func (in *Input) Walker() *Walker {
	return &Walker{dec: json.NewDecoder(in), In: in}
}

// Fault adds the position to an error of the decoder.
func (w *Walker) Fault(where string, err error) error {
	if f := (*read.PositionError)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return &read.PositionError{Where: where, Offset: w.offset(), Err: err}
}

// offset returns the decoder's position in the file, in bytes.
func (w *Walker) offset() int64 { return w.dec.InputOffset() }

// token reads the next token within the limit of an item.
func (w *Walker) token(where string) (json.Token, error) {
	if full := w.In.Budget.Err; full != nil {
		return nil, w.Fault(where, full)
	}
	w.In.meter.allow(w.In.Limits.Item)
	token, err := w.dec.Token()
	return token, w.Fault(where, err)
}

// Object reads an object and calls member for each member. member must consume the value. Null is
// an object without members.
func (w *Walker) Object(where string, member func(name string) error) error {
	some, err := w.begin(where, '{', "an object")
	if err != nil || !some {
		return err
	}
	return w.rest(where, func() error {
		name, err := w.token(where)
		if err != nil {
			return err
		}
		return member(name.(string)) // the decoder accepts only strings as keys
	})
}

// Array reads an array and calls element for each element. element must consume the value. Null is
// an array without elements.
func (w *Walker) Array(where string, element func(item string) error) error {
	some, err := w.begin(where, '[', "a list")
	if err != nil || !some {
		return err
	}
	i := 0
	return w.rest(where, func() error {
		if i >= w.In.Limits.Items {
			return w.Fault(where, TooMany(where, w.In.Limits.Items))
		}
		item := where + "[" + strconv.Itoa(i) + "]"
		i++
		if full := w.In.Budget.Err; full != nil {
			return w.Fault(item, full)
		}
		return element(item)
	})
}

// begin reads the start of an object or array. some is false for null.
func (w *Walker) begin(where string, opening json.Delim, kind string) (some bool, err error) {
	start, err := w.token(where)
	if err != nil || start == nil {
		return false, err
	}
	if start != opening {
		return false, w.Fault(where, fmt.Errorf("expected %s", kind))
	}
	return true, nil
}

// rest calls step up to the end of the object or array.
func (w *Walker) rest(where string, step func() error) error {
	for w.dec.More() {
		if err := step(); err != nil {
			return err
		}
	}
	_, err := w.token(where)
	return err
}

// Decode reads the next value into v and adds it to the budget. A value of another type is not an
// error: v contains the valid part, and misfit describes the rest.
func (w *Walker) Decode(where string, v any) (misfit string, err error) {
	w.In.Build(SizeOf(v))
	return w.Parse(where, v)
}

// Parse decodes a value like Decode, but without adding the size of v to the budget.
func (w *Walker) Parse(where string, v any) (misfit string, err error) {
	w.In.meter.allow(w.In.Limits.Item)
	begun := w.dec.InputOffset()
	err = w.dec.Decode(v)
	w.In.Build(int(w.dec.InputOffset() - begun))
	if w.isBroken(err) {
		return "", w.Fault(where, err)
	}
	return MisfitOf(err), nil
}

// MisfitOf describes a decoding error of valid JSON. It returns "" for nil.
func MisfitOf(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s is a %s, which is invalid", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return read.OneLine(err.Error(), read.MaxName) // from a type with its own UnmarshalJSON
}

// isBroken reports whether reading cannot continue after an error.
func (w *Walker) isBroken(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		w.In.meter.err != nil && errors.Is(err, w.In.meter.err)
}

// maxDepth is the maximum nesting of skipped JSON. encoding/json has the same limit for decoded
// JSON.
const maxDepth = 10_000

// Skip skips the next value without storing it.
func (w *Walker) Skip(where string) error {
	for depth := 0; ; {
		if depth > maxDepth {
			return w.Fault(where, fmt.Errorf("it nests more than %d levels deep", maxDepth))
		}
		token, err := w.token(where)
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// End returns an error if more data follows the document.
func (w *Walker) End() error {
	_, err := w.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return w.Fault("", read.ErrTrailing)
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return w.Fault("", read.ErrTrailing)
	}
	return w.Fault("", err)
}

// Strings reads a list of strings and calls add for each that is not empty.
func (w *Walker) Strings(where string, add func(s string)) error {
	return w.Array(where, func(item string) error {
		var s read.Text
		if _, err := w.Decode(item, &s); err != nil {
			return err
		}
		if s != "" {
			add(string(s))
		}
		return nil
	})
}

// Lines reads consecutive objects up to the end of the file and calls element for each. element
// must consume the object. Other values are errors, because a truncated number, for example, cannot
// be detected.
func (w *Walker) Lines(where string, element func(item string) error) error {
	for i := 0; ; i++ {
		item := where + "[" + strconv.Itoa(i) + "]"
		w.In.meter.allow(w.In.Limits.Item)
		if !w.dec.More() {
			if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
				return w.Fault(item, firstError(err, read.ErrTrailing))
			}
			return nil
		}
		if i >= w.In.Limits.Items {
			return w.Fault(where, TooMany(where, w.In.Limits.Items))
		}
		if full := w.In.Budget.Err; full != nil {
			return w.Fault(item, full)
		}
		var next [1]byte
		if _, err := w.dec.Buffered().Read(next[:]); err != nil || next[0] != '{' {
			return w.Fault(item, errors.New("expected an object"))
		}
		if err := element(item); err != nil {
			return err
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
