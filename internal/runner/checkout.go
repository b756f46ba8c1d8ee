package runner

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Limits of a checkout.
const (
	maxListedFiles = 20      // omitted files listed in the log
	maxLink        = 4 << 10 // bytes of a link target
	maxFile        = 1 << 30 // bytes of a file

	maxEntry = 64 << 10  // bytes of an entry in the listing of git, including the name
	maxNames = 256 << 20 // bytes of the names of all files
)

// entry is a file of the tree under test.
type entry struct {
	mode, id, name string
	size           int64
}

// checkOut writes the files under test to the run's directory. It does not use git for this,
// because git would apply filters, line endings and links as the repository requests.
func (f *fetch) checkOut(ctx context.Context) error {
	src := filepath.Join(f.dir, "src")
	if err := f.makeRepository(ctx, src); err != nil {
		return err
	}
	entries, err := f.entries(ctx)
	if err != nil {
		return err
	}
	if err := f.readTree(ctx, src); err != nil { // after its size was checked
		return err
	}
	root, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	w := &writer{fetch: f, root: root}
	if err := w.write(ctx, entries); err != nil {
		return err
	}
	return w.leaveOut(ctx, src)
}

// makeRepository creates a repository for the run that shares the objects of the cache. It has no
// remote, settings or other refs.
func (f *fetch) makeRepository(ctx context.Context, src string) error {
	g := f.local(src)
	if _, err := g.run(ctx, "init", "-q", "--template=", src); err != nil {
		return err
	}
	objects := filepath.Join(f.repository, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return errors.New("the name of the runner's folder has a line break or a quote")
	}
	info := filepath.Join(src, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600); err != nil {
		return err
	}
	if branch, ok := strings.CutPrefix(f.ref, "refs/heads/"); ok {
		if _, err := g.run(ctx, "symbolic-ref", "HEAD", "refs/heads/"+branch); err != nil {
			return err
		}
	}
	_, err := g.run(ctx, "update-ref", "HEAD", f.commit)
	return err
}

// readTree adds the files of the commit to the index of the run's repository.
func (f *fetch) readTree(ctx context.Context, src string) error {
	_, err := f.local(src).run(ctx, "read-tree", f.commit)
	if gitErr := (*gitError)(nil); errors.As(err, &gitErr) {
		return permanent("git cannot check out the tree of the commit: %.200s", gitErr.text)
	}
	return err
}

// entries lists the files of the commit and enforces the limits while git lists. Some trees of a
// few bytes expand to more files than fit in memory.
func (f *fetch) entries(ctx context.Context) (list []entry, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := f.local(f.repository).command(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", f.commit)
	stderr := bounded{remaining: 16 << 10}
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	list, err = f.readEntries(out)
	if err != nil {
		cancel() // otherwise git continues listing
	}
	ended := cmd.Wait()
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case ended != nil:
		return nil, explained(stderr.fault(f.progress.hide))
	}
	return list, nil
}

// readEntries reads the zero-terminated entries that git lists.
func (f *fetch) readEntries(from io.Reader) (list []entry, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxEntry)
	lines.Split(untilZero)
	total, names := int64(0), 0
	for lines.Scan() {
		e, ok, err := readEntry(lines.Text())
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		total += e.size
		names += len(e.name)
		list = append(list, e)
		switch {
		case len(list) > f.Limits.Files:
			return nil, permanent("the repository has more than %d files, the limit of this runner", f.Limits.Files)
		case names > maxNames:
			return nil, permanent("the names of the repository's files have more than %d MiB together", maxNames>>20)
		case total > f.Limits.Disk:
			return nil, permanent("the checkout has more than %d MiB, the limit of this runner", f.Limits.Disk>>20)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, permanent("the repository has a file whose name is longer than %d KiB", maxEntry>>10)
	}
	return list, lines.Err()
}

// untilZero is a split function for zero-terminated entries.
func untilZero(data []byte, last bool) (advance int, token []byte, err error) {
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return at + 1, data[:at], nil
	}
	if last && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// readEntry parses an entry, as "100644 blob ID SIZE<tab>name". ok is false if it has another form.
func readEntry(line string) (e entry, ok bool, err error) {
	facts, name, ok := strings.Cut(line, "\t")
	words := strings.Fields(facts)
	if !ok || len(words) != 4 {
		return e, false, nil
	}
	e = entry{mode: words[0], id: words[2], name: name}
	if words[1] == "blob" {
		if e.size, err = strconv.ParseInt(words[3], 10, 64); err != nil {
			return e, false, fmt.Errorf("git listed a file with the invalid size %q", words[3])
		}
	}
	return e, true, nil
}

// writer writes the files of a checkout.
type writer struct {
	*fetch
	root  *os.Root
	out   *bufio.Reader // of cat-file
	in    io.Writer
	links []entry
	left  []string // names of omitted files
}

func (w *writer) write(ctx context.Context, entries []entry) error {
	cmd := w.local(w.repository).command(ctx, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 256<<10)
	err = w.writeAll(ctx, entries)
	return errors.Join(err, in.Close(), discardError(err, cmd.Wait()))
}

// discardError returns after, unless it follows from an earlier error.
func discardError(before, after error) error {
	if before == nil {
		return after
	}
	return nil
}

func (w *writer) writeAll(ctx context.Context, entries []entry) error {
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case !safePath(e.name):
			w.leave(e, "its name is not allowed")
		case e.mode == "160000":
			w.leave(e, "submodules are not fetched")
		case e.mode == "120000":
			w.links = append(w.links, e) // after all files, so that none is written through a link
		case e.mode != "100644" && e.mode != "100755" && e.mode != "100664":
			w.leave(e, "it is not a file")
		case e.size > maxFile:
			w.leave(e, "it is too large")
		default:
			if err := w.file(e); err != nil {
				return err
			}
		}
	}
	for _, e := range w.links {
		if err := w.link(e); err != nil {
			return err
		}
	}
	return w.dropClimbing()
}

// dropClimbing removes links that leave the checkout through other links. This can be detected only
// when all links exist.
func (w *writer) dropClimbing() error {
	for climbs := true; climbs; { // a removed link may have been part of the path of another one
		climbs = false
		w.links = slices.DeleteFunc(w.links, func(e entry) bool {
			_, err := w.root.Stat(filepath.FromSlash(e.name))
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return false
			}
			if w.root.Remove(filepath.FromSlash(e.name)) == nil {
				w.leave(e, "it is a link that leaves the checkout through another link")
				climbs = true
			}
			return true
		})
	}
	return nil
}

// safePath reports whether a name is within the checkout and outside of the .git directory, also on
// file systems that ignore case.
func safePath(name string) bool {
	if name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\x00\\") ||
		path.Clean(name) != name {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part = strings.ToLower(part); part == ".git" || strings.HasPrefix(part, "git~") {
			return false
		}
	}
	return true
}

func (w *writer) leave(e entry, why string) {
	w.left = append(w.left, e.name)
	if len(w.left) <= maxListedFiles {
		w.progress.logf("left out: %q: %s", e.name, why)
	}
}

// blob starts to read a file from git. Its content and a newline follow.
func (w *writer) blob(e entry) error {
	if _, err := io.WriteString(w.in, e.id+"\n"); err != nil {
		return err
	}
	head, err := w.out.ReadString('\n')
	if err != nil {
		return err
	}
	if words := strings.Fields(head); len(words) != 3 || words[1] != "blob" || words[2] != strconv.FormatInt(e.size, 10) {
		return transient("git does not have the file %q: %.100s", e.name, strings.TrimSpace(head))
	}
	return nil
}

func (w *writer) file(e entry) error {
	if err := w.blob(e); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if e.mode == "100755" {
		mode = 0o755
	}
	err := w.root.MkdirAll(filepath.FromSlash(path.Dir(e.name)), 0o755)
	var file *os.File
	if err == nil {
		file, err = w.root.OpenFile(filepath.FromSlash(e.name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	}
	if err != nil {
		w.leave(e, "it cannot be written")
		_, err = io.CopyN(io.Discard, w.out, e.size+1)
		return err
	}
	_, err = io.CopyN(file, w.out, e.size)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = w.out.Discard(1)
	return err
}

// link creates a link that stays in the checkout; others are omitted.
func (w *writer) link(e entry) error {
	if err := w.blob(e); err != nil {
		return err
	}
	if e.size > maxLink {
		w.leave(e, "the target of the link is too long")
		_, err := io.CopyN(io.Discard, w.out, e.size+1)
		return err
	}
	target := make([]byte, e.size+1)
	if _, err := io.ReadFull(w.out, target); err != nil {
		return err
	}
	to := string(target[:e.size])
	if !linkStays(e.name, to) {
		w.leave(e, "it is a link that leaves the checkout")
		return nil
	}
	if err := w.root.MkdirAll(filepath.FromSlash(path.Dir(e.name)), 0o755); err != nil {
		w.leave(e, "it cannot be written")
		return nil //nolint:nilerr // the log names what is left out
	}
	if err := w.root.Symlink(to, filepath.FromSlash(e.name)); err != nil {
		w.leave(e, "it cannot be written")
	}
	return nil
}

// linkStays reports whether the text of a link leads to a path in the checkout; see dropClimbing
// for those that lead through another link.
func linkStays(name, to string) bool {
	if to == "" || path.IsAbs(to) || strings.ContainsAny(to, "\x00\\") {
		return false
	}
	for part := range strings.SplitSeq(to, "/") {
		if part != "" && part != "." && part != ".." && !safePath(part) {
			return false
		}
	}
	at := path.Join(path.Dir(name), to)
	return at == "." || safePath(at)
}

// leaveOut prevents git from treating the omitted files as deleted.
func (w *writer) leaveOut(ctx context.Context, src string) error {
	if n := len(w.left); n > 0 {
		if n > maxListedFiles {
			w.progress.logf("left out: %d more", n-maxListedFiles)
		}
		g := w.local(src)
		g.stdin = strings.NewReader(strings.Join(w.left, "\x00") + "\x00")
		_, err := g.run(ctx, "update-index", "-z", "--skip-worktree", "--stdin")
		if gitErr := (*gitError)(nil); !errors.As(err, &gitErr) {
			return err
		}
	}
	return nil
}
