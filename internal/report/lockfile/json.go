package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/redoubt/redoubt/internal/report/read"
)

// objectWalker reads JSON in memory and reports the offsets of members.
type objectWalker struct {
	dec *json.Decoder
}

func newObjectWalker(data []byte) *objectWalker {
	return &objectWalker{json.NewDecoder(bytes.NewReader(data))}
}

// object reads an object and calls member for each member, with the offset of its name. member must
// consume the value. Null is an empty object.
func (w *objectWalker) object(member func(name string, offset int) error) error {
	start, err := w.dec.Token()
	if err != nil {
		return w.fault(err)
	}
	if start == nil {
		return nil
	}
	if start != json.Delim('{') {
		return w.fault(errors.New("expected an object"))
	}
	for w.dec.More() {
		name, err := w.dec.Token()
		if err != nil {
			return w.fault(err)
		}
		offset := int(w.dec.InputOffset()) - 1 // its closing quote, which is on the same line
		if err := member(name.(string), offset); err != nil {
			return err
		}
	}
	_, err = w.dec.Token()
	return w.fault(err)
}

// decode decodes the next value and ignores members of other types.
func (w *objectWalker) decode(v any) error {
	raw, err := w.raw()
	if err == nil {
		read.Loosely(raw, v)
	}
	return err
}

func (w *objectWalker) raw() (json.RawMessage, error) {
	var raw json.RawMessage
	err := w.dec.Decode(&raw)
	return raw, w.fault(err)
}

// number reports whether the next value is a number. The version of a format is a number in files
// where versions of packages are strings.
func (w *objectWalker) number() (bool, error) {
	raw, err := w.raw()
	return len(raw) > 0 && raw[0] >= '0' && raw[0] <= '9', err
}

func (w *objectWalker) skip() error {
	_, err := w.raw()
	return err
}

// end returns an error if more data follows.
func (w *objectWalker) end() error {
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return w.fault(read.ErrTrailing)
	}
	return nil
}

func (w *objectWalker) fault(err error) error {
	if err == nil {
		return nil
	}
	return &read.PositionError{Offset: w.dec.InputOffset(), Err: err}
}

// array reads an array and calls element for each element, with its text and offset.
func (w *objectWalker) array(element func(raw []byte, offset int)) error {
	start, err := w.dec.Token()
	if err != nil || start == nil {
		return w.fault(err)
	}
	if start != json.Delim('[') {
		return w.fault(read.ErrNotList)
	}
	for w.dec.More() {
		raw, err := w.raw()
		if err != nil {
			return err
		}
		element(raw, int(w.dec.InputOffset())-len(raw))
	}
	_, err = w.dec.Token()
	return w.fault(err)
}
