package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Bounds of the code that is read and sent.
const (
	maxCodeFile  = 4 << 20 // bytes of a file
	maxCodeFiles = 5000    // that are read for one build
	maxCodeBatch = 1 << 20 // bytes of a request, roughly
	maxCodeItems = 500     // snippets of a request
	maxLeftTold  = 20      // files without code that are named
)

// wantedCode is of which findings of a scan code is sent.
type wantedCode struct {
	scanID int64
	places []model.SnippetPlace
}

// code sends the lines around the findings of this build's scans, secrets taken
// out of them.
func (b *build) code(ctx context.Context) error {
	if b.NoCode {
		return nil
	}
	wanted, secrets, err := b.wantedCode(ctx)
	if err != nil || len(wanted) == 0 {
		return err
	}
	root, err := os.OpenRoot(b.top)
	if err != nil {
		return fmt.Errorf("no code is sent: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing is written
	c := codeReader{root: root, secrets: secrets, blanker: b.blanker(), left: map[string]string{}}
	b.showStep("reading the code around findings")
	c.readSecrets(wanted)
	for _, w := range wanted {
		if err := b.sendCode(ctx, w.scanID, c.snippets(w.places)); err != nil {
			return err
		}
	}
	b.clearStep()
	names := slices.Sorted(maps.Keys(c.left))
	for _, name := range names[:min(len(names), maxLeftTold)] {
		fmt.Fprintf(b.err, "redoubt ci: no code of %q is sent: %s\n", name, c.left[name])
	}
	if more := len(names) - maxLeftTold; more > 0 {
		fmt.Fprintf(b.err, "redoubt ci: nor of %d more files\n", more)
	}
	return nil
}

// wantedCode asks for what the server wants of each scan of this build, and for
// where secrets are, by path.
func (b *build) wantedCode(ctx context.Context) (
	wanted []wantedCode, secrets map[string][]model.SnippetPlace, err error,
) {
	secrets = map[string][]model.SnippetPlace{}
	asked := map[string]bool{}
	for _, s := range b.result.Sources {
		id, err := strconv.ParseInt(s.ScanID, 10, 64)
		if err != nil || asked[s.ScanID] || s.Outcome != "applied" && s.Outcome != "repeat" {
			continue
		}
		asked[s.ScanID] = true
		answer, err := b.server.client.ListSnippets(ctx, b.server.deployment, id)
		if err != nil {
			return nil, nil, fmt.Errorf("the server did not say which code it wants: %w", withAdvice(err))
		}
		if !answer.Kept {
			fmt.Fprintf(b.out, "no code is sent: the deployment %s keeps none\n", b.server.deployment)
			return nil, nil, nil
		}
		if answer.More {
			fmt.Fprintf(b.err, "redoubt ci: scan %d has more findings than code is sent of: the first %d get theirs\n",
				id, len(answer.Findings))
		}
		w := wantedCode{scanID: id}
		for _, p := range answer.Findings {
			w.places = append(w.places, model.SnippetPlace(p))
		}
		for _, p := range answer.Secrets {
			secrets[p.Path] = append(secrets[p.Path], model.SnippetPlace(p))
		}
		if len(w.places) > 0 {
			wanted = append(wanted, w)
		}
	}
	return wanted, secrets, nil
}

// blanker knows the secrets that other scanners' reports tell.
func (b *build) blanker() *secrets.Blanker {
	reading := &report.Reading{}
	for _, name := range b.Report {
		// One that cannot be read was said to be so when it was handed in.
		if data, err := os.ReadFile(name); err == nil {
			_ = reading.Add(bytes.NewReader(data), report.Options{
				Name: filepath.ToSlash(name),
				Key:  []byte("redoubt ci"),
				Root: b.top,
			})
		}
	}
	reading.Reports(nil)
	return reading.Blanker()
}

// sendCode sends snippets in requests of a bounded size.
func (b *build) sendCode(ctx context.Context, scanID int64, all []api.Snippet) error {
	for total := len(all); len(all) > 0; {
		b.showStep("sending the code around findings: %d of %d", total-len(all), total)
		n, size := 0, 0
		for n < len(all) && n < maxCodeItems && size < maxCodeBatch {
			for _, line := range all[n].Lines {
				size += len(line) + 8
			}
			n++
		}
		out, err := b.server.client.PutSnippets(ctx, b.server.deployment, scanID, api.PutSnippetsRequest{Snippets: all[:n]})
		if err != nil {
			return fmt.Errorf("the code around findings was not taken: %w", withAdvice(err))
		}
		b.result.Code += out.Stored
		all = all[n:]
	}
	return nil
}

// codeReader reads files of the checkout, and nothing beyond it.
type codeReader struct {
	root    *os.Root
	blanker *secrets.Blanker
	secrets map[string][]model.SnippetPlace // by path
	left    map[string]string               // files of which there is no code, and why
	files   int
}

// readSecrets reads all files once, for the secrets in them: what one file tells is
// taken out of all.
func (c *codeReader) readSecrets(wanted []wantedCode) {
	names := map[string]bool{}
	for _, w := range wanted {
		for _, p := range w.places {
			names[p.Path] = true
		}
	}
	for name := range c.secrets {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if c.files++; c.files > maxCodeFiles {
			c.left[name] = fmt.Sprintf("findings are in more than %d files", maxCodeFiles)
			continue
		}
		text, err := c.read(name)
		if err != nil {
			c.left[name] = err.Error()
			continue
		}
		c.blanker.Learn(text)
		lines := strings.Split(text, "\n")
		for _, p := range c.secrets[name] {
			if p.Line <= len(lines) {
				c.blanker.Secret(strings.Join(lines[p.Line-1:min(p.EndLine, len(lines))], "\n"))
			}
		}
	}
}

// snippets cuts the code around findings, file by file.
func (c *codeReader) snippets(places []model.SnippetPlace) (list []api.Snippet) {
	places = slices.Clone(places)
	slices.SortStableFunc(places, func(a, b model.SnippetPlace) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	var of string
	var file []string
	for i, p := range places {
		if c.left[p.Path] != "" {
			continue
		}
		if i == 0 || p.Path != of {
			of, file = p.Path, nil
			text, err := c.read(p.Path)
			if err != nil { // it changed since
				c.left[p.Path] = err.Error()
				continue
			}
			file = strings.Split(strings.TrimSuffix(c.blanker.Blank(text), "\n"), "\n")
		}
		first, lines := ci.Snippet(file, p)
		if len(lines) == 0 {
			c.left[p.Path] = fmt.Sprintf("it has no line %d", p.Line)
			continue
		}
		secrets.BlankSnippet(lines, first, p, c.secrets[p.Path])
		list = append(list, api.Snippet{FindingID: p.FindingID, Path: p.Path, Line: p.Line, First: first, Lines: lines})
	}
	return list
}

// read reads a text file of the checkout. The name is what a scanner said, so it
// may be anything: links, devices, what git keeps for itself
// and what is no text are refused.
func (c *codeReader) read(name string) (string, error) {
	data, err := c.readBytes(name)
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// readBytes returns a file as it is stored.
func (c *codeReader) readBytes(name string) ([]byte, error) {
	switch {
	case name == "" || !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\x00"):
		return nil, errors.New("it is not in the checkout")
	case slices.ContainsFunc(strings.Split(path.Clean(name), "/"), func(part string) bool {
		return strings.EqualFold(part, ".git")
	}):
		return nil, errors.New("files of git itself are never sent")
	}
	for at := path.Clean(name); at != "."; at = path.Dir(at) { // what is committed as a link may lead anywhere in it
		if info, err := c.root.Lstat(filepath.FromSlash(at)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return nil, errors.New("it is a link, or is in one")
		}
	}
	info, err := c.root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > maxCodeFile:
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxCodeFile)
	}
	f, err := c.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCodeFile))
	switch {
	case err != nil:
		return nil, reasonOf(err)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("it is not text")
	}
	return data, nil
}

// reasonOf is why, without the name that was said already.
func reasonOf(err error) error {
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return at.Err
	}
	return err
}
