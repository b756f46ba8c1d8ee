package server

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

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/store"
)

// maxWaiting is the longest file, in bytes after inflating, of which it is asked whether
// it came before. A longer one is read as it comes.
const maxWaiting = 64 << 20

// waitingFile is the first file of an upload, which is not read yet: where it stays the
// only one, it may have come before.
type waitingFile struct {
	name   string
	pieces [][]byte
}

// keptBody reads what waited, and gives its memory back piece by piece: what is read is
// counted once more by its reader.
type keptBody struct {
	pieces [][]byte
	at     int // in the first of them
	free   func(bytes int)
}

// Read implements io.Reader.
func (b *keptBody) Read(p []byte) (int, error) {
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

// wait takes the first file of an upload in without reading it, and reports whether it
// did. Of what it cannot keep it returns a body that begins with the same bytes.
func (f *importFiles) wait(body io.Reader, name string) (io.Reader, bool) {
	if f.read > 0 || f.waiting != nil || len(f.unread) > 0 || f.in.Whole {
		return body, false
	}
	w := &waitingFile{name: name}
	for size, length := 256<<10, 0; length < maxWaiting && f.may(size); size = min(length, 4<<20) {
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
			f.waiting = w
			return nil, true
		case err != nil:
			return io.MultiReader(f.body(w), brokenBody{err}), false
		}
	}
	return io.MultiReader(f.body(w), body), false
}

func (f *importFiles) body(w *waitingFile) io.Reader {
	return &keptBody{pieces: w.pieces, free: f.free}
}

// brokenBody is a body that broke off.
type brokenBody struct{ err error }

// Read implements io.Reader.
func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// readWaiting reads the file that waits, if one does.
func (f *importFiles) readWaiting() error {
	w := f.waiting
	if w == nil {
		return nil
	}
	f.waiting = nil
	return f.readFile(f.body(w), w.name)
}

// readToEnd reads the file that waits and is the only one.
func (f *importFiles) readToEnd() error {
	if err := f.readWaiting(); err != nil {
		return err
	}
	if f.read == 0 { // it was left out
		return f.fault
	}
	return nil
}

// digest tells what is read of the waiting file: its bytes, and all that its reading
// and what is stored of it depend on but the time, the commit and what the store has.
func (f *importFiles) digest(decides bool) (d redoubt.Digest, err error) {
	in := *f.in
	said := []bool{in.At != "", in.Commit != "", decides}
	in.At, in.Commit, in.Filename = "", "", f.waiting.name
	options, err := json.Marshal(in)
	if err != nil {
		return d, err
	}
	flags, err := json.Marshal(said)
	if err != nil {
		return d, err
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(f.call.server.Version), options, flags, []byte(cmp.Or(in.RepoURL, f.project.URL)), f.rules} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	for _, piece := range f.waiting.pieces {
		sum.Write(piece)
	}
	copy(d[:], sum.Sum(nil))
	return d, nil
}

// digestOfRules tells the texts of rules, which the reading of reports asks for. Which rules
// look for secrets it asks too: where that changes what is stored, no upload is known again
// (see store.Tx.ConcealFindings).
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

// errUnlike ends a transaction that an upload does not go through, for it has to be read.
var errUnlike = errors.New("the upload did not come before")

// takeIdentical takes in an upload that came before, unread; nil for one that did not.
func (c *call) takeIdentical(ctx context.Context, upload ingest.Upload) (*api.ImportResponse, error) {
	out, err := runIdempotent(ctx, c, func(ctx context.Context) (*api.ImportResponse, error) {
		if err := edge.MayHandIn(ctx, c.tx, c.caller, upload.Ref, upload.Commit); err != nil {
			return nil, err
		}
		upload.Globs = c.caller.Globs()
		gate := &importGate{tx: c.tx}
		summary, identical, err := ingest.Identical(ctx, c.tx, gate, upload)
		if err != nil {
			return nil, err
		}
		if !identical {
			return nil, errUnlike
		}
		summaries := []ingest.Summary{summary}
		out := ImportAnswer(summaries)
		out.Files, out.Given = 1, 1
		out.Gate, err = gate.answer(ctx, summaries)
		return out, err
	})
	if errors.Is(err, errUnlike) {
		return nil, nil
	}
	return out, err
}

// mayBeIdentical asks, before anybody waits for it to write, whether an upload came before.
func (c *call) mayBeIdentical(ctx context.Context, upload ingest.Upload, files *importFiles) (bool, error) {
	if files.project.ID == 0 {
		return false, nil
	}
	return c.server.Store.HasUpload(ctx, c.caller.Deployment.ID, files.project.ID, redoubt.FullRef(upload.Ref), upload.Digest)
}

// knownProject is the project that an upload is for; zero where there is none.
func knownProject(ctx context.Context, tx *store.Tx, globs redoubt.ProjectGlobs, in *api.ImportQuery) (redoubt.Project, error) {
	if redoubt.CheckProjectName(in.Project) != nil {
		return redoubt.Project{}, nil //nolint:nilerr // what is wrong with the name is said once it is read
	}
	project, err := tx.FindProjectForScan(ctx, globs, redoubt.Project{Name: in.Project})
	if errors.Is(err, redoubt.ErrNotFound) {
		return redoubt.Project{}, nil
	}
	return project, err
}
