package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

type exceptionsImportCmd struct {
	webapi.Flags
	Project []string `help:"Limit to matching projects: * matches all but /, ** everything; repeatable, one match is enough." sep:"none" placeholder:"GLOB"`
	Files   []string `arg:"" name:"file" help:"OpenVEX documents, or CycloneDX documents without components."`
}

// Run imports the documents. Their statements take effect immediately.
func (c exceptionsImportCmd) Run(a *command.App) error {
	for _, glob := range c.Project {
		if strings.TrimSpace(glob) == "" {
			return errors.New("--project is empty: omit it to select all projects")
		}
	}
	var files []api.File
	for _, name := range c.Files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, api.File{Name: name, Data: text})
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.ImportDocuments(a.Ctx, deployment, api.ImportDocumentsQuery{Projects: c.Project}, files)
	if err != nil {
		return err
	}
	if c.Output != "table" {
		rows := model.Map(answer.Documents, func(d api.ImportVEX) []string {
			return []string{d.ID, d.Format, d.Name, d.Outcome, strconv.Itoa(d.Statements), strconv.Itoa(d.Triaged)}
		})
		return c.Print(a, "ID FORMAT NAME OUTCOME STATEMENTS TRIAGED", rows, answer)
	}
	for _, item := range answer.Refused {
		fmt.Fprintf(a.Out, "  refused %s: %s\n", item.Item, item.Reason)
	}
	if answer.MoreCount > 0 {
		fmt.Fprintf(a.Out, "  refused %d more\n", answer.MoreCount)
	}
	for _, d := range answer.Documents {
		if _, err := fmt.Fprintln(a.Out, webapi.DescribeVEX(d)); err != nil {
			return err
		}
	}
	return nil
}
