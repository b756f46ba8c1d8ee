package lockfile

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// xml returns a decoder of the file.
func (l *lock) xml() *xml.Decoder {
	dec := xml.NewDecoder(bytes.NewReader(l.Data))
	dec.CharsetReader = charset
	return dec
}

// charset decodes single-byte encodings of build tools, all as Latin-1. They differ only in few
// characters that names do not contain.
func charset(name string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(name) {
	case "iso-8859-1", "iso8859-1", "latin1", "iso-8859-15", "windows-1252", "cp1252", "us-ascii", "ascii":
		return &latin1{in: bufio.NewReader(in)}, nil
	}
	return nil, fmt.Errorf("unknown encoding %q: use UTF-8", name)
}

// latin1 converts ISO 8859-1 to UTF-8.
type latin1 struct {
	in   *bufio.Reader
	rest []byte // rest of a character that did not fit
}

// Read implements io.Reader.
func (r *latin1) Read(p []byte) (int, error) {
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	for n < len(p) {
		c, err := r.in.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		encoded := []byte(string(rune(c)))
		m := copy(p[n:], encoded)
		n, r.rest = n+m, encoded[m:]
	}
	return n, nil
}
