package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type vexCmd struct {
	Add    vexAddCmd    `cmd:"" help:"Hold VEX documents for many projects; redoubt import holds them for one."`
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
