package advisory

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// LoadStore provides the storage of Load.
type LoadStore interface {
	// AdvisoryDigests returns the digests of the stored records with these names.
	AdvisoryDigests(ctx context.Context, names []string) (map[string]model.Digest, error)
	// PutAdvisories stores new and changed records in one transaction.
	PutAdvisories(ctx context.Context, list []model.Advisory,
		regroup func(members []model.AdvisoryMember, fresh func() (int64, error)) (
			groups, merged map[int64]int64, err error,
		)) error
}

// Entry is a file that should contain one record.
type Entry struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// LoadResult is the result of a load.
type LoadResult struct {
	Records int // number read
	Changed int // number of new and changed ones
	Refused int
	// Refusals contains the first refused records with reasons.
	Refusals []model.Refusal
	Newest   time.Time // modification time of the newest record
}

// Limits of a load. A batch is in memory and is stored in one transaction.
const (
	batchRecords = 500
	batchBytes   = 8 << 20
	maxRefusals  = 100
	maxFiles     = 2_000_000
)

// Zip returns the records of an OSV archive. These are JSON files, at the top or in folders.
func Zip(archive *zip.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, f := range archive.File {
			if path.Ext(f.Name) == ".json" && !f.FileInfo().IsDir() && !yield(Entry{f.Name, f.Open}, nil) {
				return
			}
		}
	}
}

// Folder returns the records in a folder and its subfolders.
func Folder(folder fs.FS) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			open := func() (io.ReadCloser, error) { return folder.Open(name) }
			if !entry.IsDir() && path.Ext(name) == ".json" && !yield(Entry{name, open}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// SingleFile returns a single record in memory.
func SingleFile(name string, data []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		yield(Entry{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, nil)
	}
}

// Load stores new and changed records in batches. An unreadable record is refused and does not
// affect others. After an interruption, the next load skips stored records by their digests.
// progress is called after every batch; it may be nil.
func Load(
	ctx context.Context, s LoadStore, entries iter.Seq2[Entry, error], progress func(records int),
) (LoadResult, error) {
	l := loader{store: s, progress: progress}
	files := 0
	for entry, err := range entries {
		if err != nil {
			return l.LoadResult, err
		}
		if files++; files > maxFiles {
			return l.LoadResult, fmt.Errorf("there are more than %d files", maxFiles)
		}
		data, err := read(entry)
		if err != nil {
			l.refuse(entry.Name, err)
			continue
		}
		l.batch = append(l.batch, rawRecord{entry.Name, data})
		if l.bytes += len(data); len(l.batch) >= batchRecords || l.bytes >= batchBytes {
			if err := l.flush(ctx); err != nil {
				return l.LoadResult, err
			}
		}
	}
	return l.LoadResult, l.flush(ctx)
}

func read(entry Entry) ([]byte, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxRecord+1))
	return data, errors.Join(err, r.Close())
}

// rawRecord is the content of a record's file.
type rawRecord struct {
	name string
	data []byte
}

type loader struct {
	LoadResult
	store    LoadStore
	progress func(int)
	batch    []rawRecord
	bytes    int
}

func (l *loader) refuse(name string, err error) {
	l.Refused++
	if len(l.Refusals) < maxRefusals {
		l.Refusals = append(l.Refusals, model.Refusal{
			Item:   truncate(name, maxName),
			Reason: truncate(err.Error(), maxSummary),
		})
	}
}

// flush stores the changed records of the batch. It does not parse a file with an equal digest if
// the file name is the record's id.
func (l *loader) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names := model.Map(l.batch, func(r rawRecord) string { return strings.TrimSuffix(path.Base(r.name), ".json") })
	known, err := l.store.AdvisoryDigests(ctx, names)
	if err != nil {
		return err
	}
	var changed []model.Advisory
	for i, r := range l.batch {
		if digest, is := known[names[i]]; is && digest == DigestOf(r.data) {
			l.Records++
			continue
		}
		record, err := Read(r.data)
		if err != nil {
			l.refuse(r.name, err)
			continue
		}
		l.Records++
		if record.Modified.After(l.Newest) {
			l.Newest = record.Modified
		}
		stored, err := Stored(record, r.data)
		if err != nil {
			return err
		}
		if digest, is := known[record.ID]; !is || digest != stored.Digest {
			changed = append(changed, stored)
		}
	}
	if len(changed) > 0 {
		if err := l.store.PutAdvisories(ctx, changed, Regroup); err != nil {
			return err
		}
	}
	l.Changed += len(changed)
	l.batch, l.bytes = l.batch[:0], 0
	if l.progress != nil {
		l.progress(l.Records + l.Refused)
	}
	return nil
}

// Kind is the kind of a file.
type Kind string

// Kinds of files.
const (
	KindZip  Kind = "zip" // an archive of OSV records
	KindOSV  Kind = "osv" // one record
	KindEPSS Kind = "epss"
	KindKEV  Kind = "kev"
)

// KindOf returns the kind of a file from its first kilobytes, uncompressed.
func KindOf(head []byte) (Kind, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return KindZip, nil
	case bytes.HasPrefix(text, []byte("{")) &&
		(bytes.Contains(text, []byte(`"catalogVersion"`)) || bytes.Contains(text, []byte(`"cveID"`))):
		return KindKEV, nil
	case bytes.HasPrefix(text, []byte("{")):
		return KindOSV, nil
	case bytes.HasPrefix(text, []byte("#model_version")), bytes.HasPrefix(bytes.ToLower(text), []byte("cve,")):
		return KindEPSS, nil
	}
	return "", errors.New("its format is unknown: use a zip of OSV records, an OSV record, EPSS scores as CSV, or " +
		"the catalog of exploited vulnerabilities as JSON")
}

// Head reads the start of a file for KindOf, uncompressed.
func Head(r io.Reader) ([]byte, error) {
	plain, err := gunzip(r)
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(plain, 8<<10))
	if len(head) > 0 {
		return head, nil // reading the rest will report the error
	}
	return head, err
}
