package ci

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Limits of the code that is sent.
const (
	maxCodeBatch = 1 << 20 // approximate bytes of a request
	maxCodeItems = 500     // snippets of a request
)

// code sends the lines around the findings of this build's scans, with secrets removed.
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
		return fmt.Errorf("no code was sent: %w", err)
	}
	defer func() { _ = root.Close() }() // read only
	c := checkout.Reader{Root: root, Secrets: secrets, Blanker: b.blanker(), Left: map[string]string{}}
	b.showStep("reading code around findings")
	c.ReadSecrets(wanted)
	for _, w := range wanted {
		if err := b.sendCode(ctx, w.ScanID, c.Snippets(w.Locations)); err != nil {
			return err
		}
	}
	b.clearStep()
	names := slices.Sorted(maps.Keys(c.Left))
	for _, name := range names[:min(len(names), checkout.MaxListedFiles)] {
		fmt.Fprintf(b.Err, "redoubt ci: code of %q is not sent: %s\n", name, c.Left[name])
	}
	if more := len(names) - checkout.MaxListedFiles; more > 0 {
		fmt.Fprintf(b.Err, "redoubt ci: code of %d more files is not sent\n", more)
	}
	return nil
}

// wantedCode requests the findings whose code the server needs for each scan of this build. It also
// returns the locations of secrets, by path.
func (b *build) wantedCode(ctx context.Context) (
	wanted []checkout.Wanted, secrets map[string][]model.SnippetLocation, err error,
) {
	secrets = map[string][]model.SnippetLocation{}
	requested := map[string]bool{}
	for _, s := range b.result.Sources {
		id, err := strconv.ParseInt(s.ScanID, 10, 64)
		if err != nil || requested[s.ScanID] || s.Outcome != "applied" && s.Outcome != "repeat" {
			continue
		}
		requested[s.ScanID] = true
		answer, err := b.server.client.ListSnippets(ctx, b.server.deployment, id)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read from the server which code to send: %w", withAdvice(err))
		}
		if !answer.StoresCode {
			fmt.Fprintf(b.Out, "no code is sent: the deployment %s stores no code\n", b.server.deployment)
			return nil, nil, nil
		}
		if answer.More {
			fmt.Fprintf(b.Err, "redoubt ci: scan %d has too many findings: code is sent only for the first %d\n",
				id, len(answer.Findings))
		}
		w := checkout.Wanted{ScanID: id}
		for _, p := range answer.Findings {
			w.Locations = append(w.Locations, model.SnippetLocation(p))
		}
		for _, p := range answer.Secrets {
			secrets[p.Path] = append(secrets[p.Path], model.SnippetLocation(p))
		}
		if len(w.Locations) > 0 {
			wanted = append(wanted, w)
		}
	}
	return wanted, secrets, nil
}

// blanker returns a Blanker with the secrets in the reports of other scanners.
func (b *build) blanker() *secrets.Blanker {
	reading := &report.Reading{}
	for _, name := range b.Report {
		// Unreadable reports were already reported when they were sent.
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

// sendCode sends snippets in requests of bounded size.
func (b *build) sendCode(ctx context.Context, scanID int64, all []api.Snippet) error {
	for total := len(all); len(all) > 0; {
		b.showStep("sending code around findings: %d of %d", total-len(all), total)
		n, size := 0, 0
		for n < len(all) && n < maxCodeItems && size < maxCodeBatch {
			for _, line := range all[n].Lines {
				size += len(line) + 8
			}
			n++
		}
		out, err := b.server.client.PutSnippets(ctx, b.server.deployment, scanID, api.PutSnippetsRequest{Snippets: all[:n]})
		if err != nil {
			return fmt.Errorf("code around findings was not stored: %w", withAdvice(err))
		}
		b.result.Code += out.Stored
		all = all[n:]
	}
	return nil
}
