package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type vexCmd struct {
	Add    vexAddCmd    `cmd:"" help:"Hold VEX documents for many projects; redoubt import holds them for one."`
	List   vexListCmd   `cmd:"" help:"List the documents that are held, and how many findings each decides about."`
	Accept vexAcceptCmd `cmd:"" help:"Let proposed documents count, which came by tokens that may not triage."`
	Refuse vexRefuseCmd `cmd:"" help:"Refuse proposed documents: uploads of the project do not propose the same again."`
	Show   vexShowCmd   `cmd:"" help:"List what a document says."`
	Remove vexRemoveCmd `cmd:"" help:"Remove a document, and reopen what it decided about."`
	Export vexExportCmd `cmd:"" help:"Write what was decided about dependencies as an OpenVEX document, or with their bill of materials as CycloneDX."`
}

// describeVEX tells what became of a document.
func describeVEX(r redoubt.VEXReceipt) string {
	name := r.Document.Format + " " + r.Document.Name
	switch r.Outcome {
	case redoubt.VEXSame:
		return name + " says nothing new"
	case redoubt.VEXOlder:
		return name + " is older than the one that is held: nothing changed"
	case redoubt.VEXProposed:
		return fmt.Sprintf("%s is proposed as %d, %s, and decides nothing until it is accepted", name, r.Document.ID, statements(r.Statements))
	case redoubt.VEXRefused:
		return name + " says only what was refused before: it is not held"
	case redoubt.VEXDropped:
		return name + " made way for what the same upload proposes after it: it is not held"
	case redoubt.VEXWithdrawn:
		return fmt.Sprintf("%s says nothing any more; %s", name, decided(r.Changed))
	}
	return fmt.Sprintf("%s is held as %d, %s; %s", name, r.Document.ID, statements(r.Statements), decided(r.Changed))
}

func statements(n int) string {
	if n == 1 {
		return "1 statement"
	}
	return fmt.Sprintf("%d statements", n)
}

type vexAddCmd struct {
	tenant
	Project []string `help:"Only for projects whose name matches: * for anything but /, ** for anything. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	Files   []string `arg:"" name:"file" help:"OpenVEX, or CycloneDX that lists no components."`
}

// Run holds the documents, which decide about what is there at once.
func (c vexAddCmd) Run(a *app) error {
	for _, glob := range c.Project {
		if strings.TrimSpace(glob) == "" {
			return errors.New("--project is empty; leave it out to mean all projects")
		}
	}
	documents, refused, err := readVEX(c.Files)
	if err != nil {
		return err
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		lines := refused
		for _, d := range documents {
			d.Projects = c.Project
			receipt, err := exceptions.PutVEX(ctx, tx, d)
			if err != nil {
				return "", err
			}
			lines = append(lines, describeVEX(receipt))
		}
		return strings.Join(lines, "\n"), nil
	})
}

// readVEX reads files that are VEX documents and nothing else, and tells what in
// them is not understood.
func readVEX(files []string) (documents []redoubt.VEXDocument, refused []string, err error) {
	reading := &report.Reading{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		err = reading.Add(f, report.Options{Name: name})
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range reading.Reports(nil) {
		if !r.OnlyVEX() {
			return nil, nil, fmt.Errorf("one of the files is a report of %s and no VEX document of its own; redoubt import takes it, with what it says of vulnerabilities", r.Tool)
		}
		if why := r.AllRefused(); why != "" {
			return nil, nil, errors.New(why)
		}
		for _, item := range r.Refused {
			refused = append(refused, fmt.Sprintf("  refused %s: %s", item.Item, item.Reason))
		}
		if r.MoreRefused > 0 {
			refused = append(refused, fmt.Sprintf("  refused %d more", r.MoreRefused))
		}
		documents = append(documents, r.VEX...)
	}
	return documents, refused, nil
}

type vexListCmd struct {
	tenant
	listed
	Proposed bool `help:"Only those that wait for somebody to accept them."`
}

// Run lists the documents.
func (c vexListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		q := store.VEXQuery{After: c.After, Limit: c.Limit}
		if c.Proposed {
			q.Proposed = &c.Proposed
		}
		list, more, err := tx.VEXDocuments(ctx, q)
		if err != nil {
			return err
		}
		rows := make([][]string, len(list))
		for i, h := range list {
			rows[i] = []string{
				strconv.FormatInt(h.ID, 10), h.Format, h.Where(), issuedText(h.VEXDocument), strconv.Itoa(h.Count), decides(h), h.ReceivedBy, h.Name,
			}
		}
		return c.table(a, "ID FORMAT WHERE ISSUED STATEMENTS DECIDES BY NAME", rows, more)
	})
}

// decides is how many findings a document decides about.
func decides(h redoubt.VEXHolding) string {
	if h.Proposed {
		return "proposed"
	}
	return strconv.Itoa(h.Decides)
}

type vexAcceptCmd struct {
	tenant
	ID []int64 `arg:"" help:"The documents, by their ids."`
}

// Run lets proposed documents count.
func (c vexAcceptCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		lines := make([]string, len(c.ID))
		for i, id := range c.ID {
			receipt, err := exceptions.AcceptVEX(ctx, tx, id)
			if err != nil {
				return "", noVEX(id, err)
			}
			lines[i] = describeVEX(receipt)
		}
		return strings.Join(lines, "\n"), nil
	})
}

type vexRefuseCmd struct {
	tenant
	ID []int64 `arg:"" help:"The documents, by their ids."`
}

// Run refuses proposed documents.
func (c vexRefuseCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		lines := make([]string, len(c.ID))
		for i, id := range c.ID {
			n, err := exceptions.RefuseVEX(ctx, tx, id)
			if err != nil {
				return "", noVEX(id, err)
			}
			lines[i] = fmt.Sprintf("VEX document %d is refused: uploads of the project do not propose its %s again", id, statements(n))
		}
		return strings.Join(lines, "\n"), nil
	})
}

func issuedText(d redoubt.VEXDocument) string {
	if d.IssuedAt.IsZero() {
		return "-"
	}
	return d.IssuedAt.Format(time.DateOnly)
}

type vexShowCmd struct {
	tenant
	ID int64 `arg:"" help:"The document, by its id."`
}

// Run lists the statements of a document.
func (c vexShowCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.VEXHolding(ctx, c.ID, nil)
		if err != nil {
			return noVEX(c.ID, err)
		}
		d, err := tx.VEXDocument(ctx, c.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s %s\nversion %d of %s, by %s, read from %s\nfor %s, since %s by %s\n\n", d.Format, d.Name, d.Version, issuedText(d),
			cmp.Or(d.Author, "-"), cmp.Or(d.File, "-"), h.Where(), d.ReceivedAt.Format(time.DateOnly), d.ReceivedBy)
		rows := make([][]string, len(d.Statements))
		for i := range d.Statements {
			s := &d.Statements[i]
			made := s.Triage()
			rows[i] = []string{
				strings.Join(s.Names, " "), s.About(), s.Says(), made.State.String() + strings.TrimRight(" "+made.Reason.String(), " "), strings.Join(strings.Fields(s.Detail), " "),
			}
		}
		return table(a.out, "VULNERABILITY ABOUT SAYS MAKES DETAIL", rows)
	})
}

func noVEX(id int64, err error) error {
	if errors.Is(err, redoubt.ErrNotFound) {
		return fmt.Errorf("there is no VEX document %d; redoubt vex list shows what there is", id)
	}
	return err
}

type vexRemoveCmd struct {
	tenant
	ID int64 `arg:"" help:"The document, by its id."`
}

// Run ends the document.
func (c vexRemoveCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		d, changed, err := exceptions.RemoveVEX(ctx, tx, c.ID)
		if err != nil {
			return "", noVEX(c.ID, err)
		}
		return fmt.Sprintf("VEX document %d is removed: %s; %s", d.ID, d.Name, decided(changed)), nil
	})
}
