package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// bufferedFile is the first file of an upload, which is not parsed yet. If no other file follows,
// the upload may be identical to the previous one.
type bufferedFile struct {
	name   string
	pieces [][]byte
}

// buffer stores the first file of an upload without parsing it, and reports whether it did.
// Otherwise it returns a body with the same bytes.
func (f *Reader) buffer(body io.Reader, name string) (io.Reader, bool) {
	if f.Read > 0 || f.Buffered != nil || len(f.Unread) > 0 || f.In.Whole {
		return body, false
	}
	w := &bufferedFile{name: name}
	for size, length := 256<<10, 0; length < maxBuffered && f.May(size); size = min(length, 4<<20) {
		piece, err := make([]byte, size), error(nil)
		n := 0
		for n < size && err == nil {
			var more int
			more, err = body.Read(piece[n:])
			n += more
		}
		w.pieces = append(w.pieces, piece[:n])
		length += n
		switch {
		case err == io.EOF: //nolint:errorlint // a body that was cut off wraps it, or is io.ErrUnexpectedEOF
			f.Buffered = w
			return nil, true
		case err != nil:
			return io.MultiReader(f.body(w), brokenBody{err}), false
		}
	}
	return io.MultiReader(f.body(w), body), false
}

func (f *Reader) body(w *bufferedFile) io.Reader {
	return &bufferedBody{pieces: w.pieces, free: f.Free}
}

// readBuffered parses the buffered file, if there is one.
func (f *Reader) readBuffered() error {
	w := f.Buffered
	if w == nil {
		return nil
	}
	f.Buffered = nil
	return f.readFile(f.body(w), w.name)
}

// ReadToEnd parses the buffered file, which is the only one.
func (f *Reader) ReadToEnd() error {
	if err := f.readBuffered(); err != nil {
		return err
	}
	if f.Read == 0 { // it was skipped
		return f.fault
	}
	return nil
}

// Digest returns a digest of the buffered file and of everything else that determines its findings.
// These are the parameters except time and commit, the server version and the texts of rules.
func (f *Reader) Digest(decides bool) (d model.Digest, err error) {
	in := *f.In
	present := []bool{in.At != "", in.Commit != "", decides}
	in.At, in.Commit, in.Filename = "", "", f.Buffered.name
	options, err := json.Marshal(in)
	if err != nil {
		return d, err
	}
	flags, err := json.Marshal(present)
	if err != nil {
		return d, err
	}
	sum := sha256.New()
	for _, part := range [][]byte{
		[]byte(f.Call.Server.Version), options, flags, []byte(cmp.Or(in.RepoURL, f.Project.URL)), f.rules,
	} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	for _, piece := range f.Buffered.pieces {
		sum.Write(piece)
	}
	copy(d[:], sum.Sum(nil))
	return d, nil
}

// digestOfRules returns a digest of the texts of rules, which parsing depends on. Parsing also
// depends on which rules detect secrets: when that changes stored findings,
// store.Tx.ConcealFindings invalidates all digests.
func digestOfRules(texts map[string][]byte) []byte {
	sum := sha256.New()
	part := func(text []byte) {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		sum.Write(text)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		part([]byte(name))
		part(texts[name])
	}
	return sum.Sum(nil)
}

// knownProject returns the project of an upload, or a zero project if it does not exist yet.
func knownProject(
	ctx context.Context, tx *store.Tx, globs model.ProjectGlobs, in *api.ImportQuery,
) (model.Project, error) {
	if model.CheckProjectName(in.Project) != nil {
		return model.Project{}, nil //nolint:nilerr // the import reports the error
	}
	project, err := tx.FindProjectForScan(ctx, globs, model.Project{Name: in.Project})
	if errors.Is(err, model.ErrNotFound) {
		return model.Project{}, nil
	}
	return project, err
}

// maxBuffered is the size of the largest file, in bytes after decompression, that is compared
// with the previous upload. Larger files are parsed as they arrive.
const maxBuffered = 64 << 20

// bufferedBody reads a buffered file and releases the reservation of each piece after reading it.
// The parser reserves memory for the same bytes.
type bufferedBody struct {
	pieces [][]byte
	at     int // offset in the first piece
	free   func(bytes int)
}

// Read implements io.Reader.
func (b *bufferedBody) Read(p []byte) (int, error) {
	for len(b.pieces) > 0 {
		if n := copy(p, b.pieces[0][b.at:]); n > 0 {
			b.at += n
			return n, nil
		}
		b.free(cap(b.pieces[0]))
		b.pieces[0] = nil
		b.pieces, b.at = b.pieces[1:], 0
	}
	return 0, io.EOF
}

// brokenBody is the rest of a body whose connection failed.
type brokenBody struct{ err error }

// Read implements io.Reader.
func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }
