package format

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// headSize is the number of bytes that Detect receives.
const headSize = 64 << 10

// Input is an opened file: decompressed, limited, and without a byte order mark.
type Input struct {
	*bufio.Reader
	meter  *meter
	Limits Limits
	Budget *Budget
	built  func(bytes int) error // may be nil
	mark   int64                 // length of the byte order mark
}

// Open opens a file. It decompresses gzip, removes byte order marks and enforces the limits.
func Open(r io.Reader, o Options) (*Input, error) {
	limits := o.Limits
	raw := bufio.NewReader(r)
	r = raw
	if magic, _ := raw.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		inflated, err := gzip.NewReader(raw)
		if err != nil {
			return nil, fmt.Errorf("the gzip header is damaged: %w", err)
		}
		r = gzipReader{inflated}
	}
	m := &meter{
		r: r, left: limits.Input, limit: limits.Input,
		onRead: o.OnRead, budget: o.Budget, watch: o.Secrets.Watch(),
	}
	in := &Input{Reader: bufio.NewReaderSize(m, headSize), meter: m, Limits: limits, Budget: o.Budget, built: o.Built}
	mark, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, err := in.Discard(3)
		in.mark = 3
		return in, err
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		if !lockfile.IsRequirements(o.Name) {
			return nil, ErrUTF16
		}
		return in, in.decodeUTF16() // pip supports it
	}
	return in, nil
}

// decodeUTF16 converts the rest of the input to UTF-8.
func (in *Input) decodeUTF16() error {
	data, err := in.All()
	if err != nil {
		return err
	}
	in.Reader = bufio.NewReaderSize(bytes.NewReader(read.FromUTF16(data)), headSize)
	return nil
}

// Head returns the beginning of the file without consuming it.
func (in *Input) Head() ([]byte, error) {
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// All returns the whole file. A file that exceeds the document limit is an error.
func (in *Input) All() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, in.Limits.Document+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > in.Limits.Document {
		return nil, TooLarge("the file", in.Limits.Document)
	}
	in.Build(len(data) + WeightOfMarks(data))
	return data, in.Budget.Err
}

// WeightOfMarks estimates the memory of a document that is decoded as a whole. Each line, member
// and element is a value, and each component of a bill of materials is a large value.
func WeightOfMarks(data []byte) int {
	n := markSize * (bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte(",")) + bytes.Count(data, []byte("{")) +
		bytes.Count(data, []byte("<")))
	return n + PartSize*(bytes.Count(data, []byte("<component"))+bytes.Count(data, []byte("<vulnerability")))
}

// TooLarge returns the error for data over a limit in bytes.
func TooLarge(what string, limit int64) error {
	return fmt.Errorf("%s is %w (limit %d bytes)", what, model.ErrTooLarge, limit)
}

// TooMany returns the error for a list over its limit.
func TooMany(what string, limit int) error {
	return fmt.Errorf("%s: the list is %w (limit %d)", what, model.ErrTooLarge, limit)
}

// meter is a reader that limits the size of the whole file, and of one item.
type meter struct {
	r         io.Reader
	left      int64
	limit     int64
	item      int64                 // remaining bytes of the item
	itemLimit int64                 // 0 for none
	values    int                   // remaining values of the item, counted by commas
	onRead    func(bytes int) error // may be nil
	budget    *Budget
	watch     *secrets.AddressWatch // may be nil
	err       error                 // error that ended the input early
}

// maxValues is the maximum number of values of one item. Each may need some hundred bytes after
// decoding.
const maxValues = 400_000

// allow sets the limit of bytes until the next call, in addition to buffered bytes.
func (m *meter) allow(limit int64) {
	m.item, m.itemLimit, m.values = limit, limit, maxValues
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (n int, err error) {
	switch {
	case m.left < 0:
		err = TooLarge("the file", m.limit)
	case m.itemLimit > 0 && m.item < 0:
		err = TooLarge("one item of the file", m.itemLimit)
	case m.itemLimit > 0 && m.values < 0:
		err = TooMany("the values of one item of the file", maxValues)
	default:
		n, err = m.r.Read(p)
	}
	if m.watch != nil {
		m.watch.See(p[:n])
	}
	m.left -= int64(n)
	m.item -= int64(n)
	m.values -= bytes.Count(p[:n], []byte{','})
	m.budget.Read += int64(n)
	if m.onRead != nil && n > 0 {
		if refused := m.onRead(n); refused != nil {
			err = refused
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

// gzipReader adds an explanation to errors of a gzip stream.
type gzipReader struct{ r *gzip.Reader }

// Read implements io.Reader.
func (g gzipReader) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		err = fmt.Errorf("the gzip stream is damaged: %w", err)
	}
	return n, err
}
