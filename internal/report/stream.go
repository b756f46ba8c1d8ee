package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redoubt/redoubt/internal/report/read"
)

// walker goes through a JSON document item by item, so that only one item is
// in memory at a time.
type walker struct {
	dec *json.Decoder
	in  *input
}

func (in *input) walker() *walker {
	return &walker{dec: json.NewDecoder(in), in: in}
}

// fault places a decoder's error.
func (w *walker) fault(where string, err error) error {
	if f := (*read.PlaceError)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return &read.PlaceError{Where: where, Offset: w.offset(), Err: err}
}

// offset is how far the decoder came in the file, in bytes.
func (w *walker) offset() int64 { return w.dec.InputOffset() }

// token reads the next token within the limit of an item.
func (w *walker) token(where string) (json.Token, error) {
	if full := w.in.room.err; full != nil {
		return nil, w.fault(where, full)
	}
	w.in.meter.allow(w.in.limits.Item)
	token, err := w.dec.Token()
	return token, w.fault(where, err)
}

// object calls member for each member of the object that comes next; member
// must consume the value. Null is an object without members.
func (w *walker) object(where string, member func(name string) error) error {
	some, err := w.begin(where, '{', "an object")
	if err != nil || !some {
		return err
	}
	return w.rest(where, func() error {
		name, err := w.token(where)
		if err != nil {
			return err
		}
		return member(name.(string)) // the decoder lets nothing else be a key
	})
}

// array calls element for each element of the array that comes next; element
// must consume the value. Null is an array without elements.
func (w *walker) array(where string, element func(item string) error) error {
	some, err := w.begin(where, '[', "a list")
	if err != nil || !some {
		return err
	}
	i := 0
	return w.rest(where, func() error {
		if i >= w.in.limits.Items {
			return w.fault(where, tooMany(where, w.in.limits.Items))
		}
		item := where + "[" + strconv.Itoa(i) + "]"
		i++
		if full := w.in.room.err; full != nil {
			return w.fault(item, full)
		}
		return element(item)
	})
}

// begin enters the object or array that comes next; null is none.
func (w *walker) begin(where string, opening json.Delim, kind string) (some bool, err error) {
	start, err := w.token(where)
	if err != nil || start == nil {
		return false, err
	}
	if start != opening {
		return false, w.fault(where, fmt.Errorf("%s was expected", kind))
	}
	return true, nil
}

// rest repeats step up to the end of the object or array.
func (w *walker) rest(where string, step func() error) error {
	for w.dec.More() {
		if err := step(); err != nil {
			return err
		}
	}
	_, err := w.token(where)
	return err
}

// decode reads the next value into v. A value that does not fit is no error:
// what fits is in v, and misfit says what does not.
//
// It counts the value as memory that is kept; parse is for one that is not.
func (w *walker) decode(where string, v any) (misfit string, err error) {
	w.in.build(sizeOf(v))
	return w.parse(where, v)
}

func (w *walker) parse(where string, v any) (misfit string, err error) {
	w.in.meter.allow(w.in.limits.Item)
	begun := w.dec.InputOffset()
	err = w.dec.Decode(v)
	w.in.build(int(w.dec.InputOffset() - begun))
	if w.isBroken(err) {
		return "", w.fault(where, err)
	}
	return misfitOf(err), nil
}

// misfitOf says what does not fit of a value whose JSON is sound; "" for nil.
func misfitOf(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s is a %s, which does not fit", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return read.OneLine(err.Error(), read.MaxName) // of a type that decodes itself
}

// isBroken tells whether the document cannot be read on after an error.
func (w *walker) isBroken(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		w.in.meter.err != nil && errors.Is(err, w.in.meter.err)
}

// maxDepth is how deep JSON may nest where it is passed over; where it is
// decoded, encoding/json has the same bound.
const maxDepth = 10_000

// skip passes over the next value without holding it in memory.
func (w *walker) skip(where string) error {
	for depth := 0; ; {
		if depth > maxDepth {
			return w.fault(where, fmt.Errorf("it nests more than %d levels deep", maxDepth))
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

// end makes sure that nothing follows the document.
func (w *walker) end() error {
	_, err := w.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return w.fault("", read.ErrTrailing)
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return w.fault("", read.ErrTrailing)
	}
	return w.fault("", err)
}

// strings reads a list of strings, item by item.
func (w *walker) strings(where string, add func(s string)) error {
	return w.array(where, func(item string) error {
		var s read.Text
		if _, err := w.decode(item, &s); err != nil {
			return err
		}
		if s != "" {
			add(string(s))
		}
		return nil
	})
}

// lines calls element for each of the objects that follow each other up to the
// end of the file; element must consume it. Nothing else may stand there, for
// of a number, as an example, a cut could not be seen.
func (w *walker) lines(where string, element func(item string) error) error {
	for i := 0; ; i++ {
		item := where + "[" + strconv.Itoa(i) + "]"
		w.in.meter.allow(w.in.limits.Item)
		if !w.dec.More() {
			if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
				return w.fault(item, firstError(err, read.ErrTrailing))
			}
			return nil
		}
		if i >= w.in.limits.Items {
			return w.fault(where, tooMany(where, w.in.limits.Items))
		}
		if full := w.in.room.err; full != nil {
			return w.fault(item, full)
		}
		var next [1]byte
		if _, err := w.dec.Buffered().Read(next[:]); err != nil || next[0] != '{' {
			return w.fault(item, errors.New("an object was expected"))
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
