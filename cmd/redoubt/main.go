// Command redoubt is the whole platform in one binary: the server and the commands that manage it.
//
// This package connects the other packages. The commands are in internal/cli, admin, updater and
// embedded. service.go contains the code shared by serve and demo.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/ci"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/imports"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/embedded"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/updater"
)

type commandLine struct {
	Config kong.ConfigFlag `help:"Read settings from this YAML file; flags and environment variables override it." env:"REDOUBT_CONFIG" placeholder:"FILE"`

	Serve      serveCmd            `cmd:"" help:"Run the server."`
	Demo       demoCmd             `cmd:"" help:"Run a server with sample projects."`
	CI         ci.Command          `cmd:"" name:"ci" help:"Check a build: upload inventory and reports, scan, evaluate policies."`
	Runner     embedded.RunnerCmd  `cmd:"" help:"Run managed scans for a server."`
	Import     imports.Command     `cmd:"" help:"Import scanner reports, bills of materials and lockfiles."`
	MCP        mcpCmd              `cmd:"" name:"mcp" help:"Serve the Model Context Protocol (MCP) on standard input/output."`
	Deployment admin.DeploymentCmd `cmd:"" help:"Create and list deployments (tenants)."`
	User       admin.UserCmd       `cmd:"" help:"Create and manage users."`
	Token      admin.TokenCmd      `cmd:"" help:"Create, list and revoke API tokens."`
	Key        admin.KeyCmd        `cmd:"" help:"Manage the key file."`
	Backup     admin.BackupCmd     `cmd:"" help:"Back up all data to a file."`
	Check      admin.CheckCmd      `cmd:"" help:"Verify stored data (exit codes: 1 damaged, 2 not verified)."`
	Migrate    admin.MigrateCmd    `cmd:"" help:"Print SQL that distributes the database with Citus."`
	Advisories updater.Command     `cmd:"" help:"Load and query advisories."`
	Audit      admin.AuditCmd      `cmd:"" help:"Show the audit trail."`
	Version    versionCmd          `cmd:"" help:"Print the version."`

	RunnerInside embedded.RunnerInsideCmd `cmd:"" name:"runner-inside" hidden:"" help:"Run inside a runner's sandbox."`

	Completion cli.CompletionCmd `cmd:"" help:"Print a shell completion script."`
	Man        cli.ManCmd        `cmd:"" help:"Print a manual page: redoubt man token create | man -l -"`

	Login         cli.LoginCmd         `cmd:"" group:"api" help:"Sign in to a server."`
	Logout        cli.LogoutCmd        `cmd:"" group:"api" help:"Sign out."`
	Findings      cli.FindingsCmd      `cmd:"" group:"api" help:"List, show and triage findings."`
	Tickets       cli.TicketsCmd       `cmd:"" group:"api" help:"List, create and link tickets about findings."`
	Exceptions    cli.ExceptionsCmd    `cmd:"" group:"api" help:"Manage and request exceptions."`
	Notifications cli.NotificationsCmd `cmd:"" group:"api" help:"List, test and pause notification rules."`
	Projects      cli.ProjectsCmd      `cmd:"" group:"api" help:"List and manage projects."`
	Connections   cli.ConnectionsCmd   `cmd:"" group:"api" help:"Connect code hosts and manage their repositories."`
	Runs          cli.RunsCmd          `cmd:"" group:"api" help:"Start, watch, stop and schedule managed scans."`
	Policies      cli.PoliciesCmd      `cmd:"" group:"api" help:"Manage policies: scanner rules and build conditions."`
	Scans         cli.ScansCmd         `cmd:"" group:"api" help:"Inspect scans."`
	SBOM          cli.SBOMCmd          `cmd:"" name:"sbom" group:"api" help:"Download a bill of materials."`
}

func main() { os.Exit(run(os.Args[1:])) }

// newParser returns the parser of the command line.
func newParser(grammar *commandLine, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(grammar, append(options,
		kong.Name("redoubt"),
		kong.Description("A self-hosted code-security platform: findings, triage, dependencies and policies "+
			"in one Web API."),
		kong.Configuration(config.Load),
		kong.ExplicitGroups([]kong.Group{{Key: "api", Title: "Commands for a server or its database:"}}),
		kong.Vars{"formats": formats(), "dueClasses": cli.DueHelp},
	)...)
}

// run executes one command line and returns its exit code: 0 for success, 1 when the command
// failed, 2 when the command line is invalid.
func run(args []string) int {
	exit, exited := 0, false
	parser, err := newParser(&commandLine{}, kong.Exit(func(code int) { exit, exited = code, true }))
	if err != nil {
		return printError(err, 2)
	}
	if err := config.SecretsFromFiles(parser.Model); err != nil {
		return printError(err, 2)
	}
	line, err := parser.Parse(currentWords(args))
	if exited { // --help
		return exit
	}
	if err != nil {
		return printError(err, 2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal terminates immediately
	a := &command.App{
		Ctx: ctx, Out: &command.Printable{To: os.Stdout}, Err: &command.Printable{To: os.Stderr}, Clock: time.Now,
		Getenv: os.Getenv, Environ: os.Environ, OpenInProcess: openInProcess,
		Log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Unknown: config.UnknownVariables(parser.Model),
	}
	err = errors.Join(line.Run(a), a.End())
	var ended *command.ExitError
	switch {
	case errors.As(err, &ended):
		return ended.Code
	case err != nil:
		return printError(err, 1)
	}
	return 0
}

// formats returns the names of the import formats.
func formats() string {
	var words []string
	for _, f := range report.Formats() {
		words = append(words, string(f.Format))
	}
	return strings.Join(words, ", ")
}

// printError prints an error, with each invalid field on a separate line.
func printError(err error, code int) int {
	out := &command.Printable{To: os.Stderr}
	var invalid *model.InvalidError
	if p, is := errors.AsType[*api.Problem](err); is {
		invalid = &model.InvalidError{}
		for _, f := range p.Errors {
			invalid.Fields = append(invalid.Fields, model.FieldError{Location: f.Location, Message: f.Message})
		}
	}
	if (invalid != nil || errors.As(err, &invalid)) && len(invalid.Fields) > 1 {
		fmt.Fprintln(out, "redoubt: the input has multiple errors:")
		for _, f := range invalid.Fields {
			fmt.Fprintf(out, "  %s: %s\n", f.Location, f.Message)
		}
		return code
	}
	fmt.Fprintln(out, "redoubt:", err)
	return code
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(a *command.App) error {
	_, err := fmt.Fprintln(a.Out, "redoubt", about.Version)
	return err
}
