// Command redoubt is the whole platform in one binary: the server, and the
// commands that manage it beside or without one.
//
// This package wires the rooms together and decides nothing. A file holds a
// command; app.go is what they share, service.go what serve and demo share.
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
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/server"
)

type commandLine struct {
	Config kong.ConfigFlag `help:"Read settings from this YAML file; flags and environment variables override it." env:"REDOUBT_CONFIG" placeholder:"FILE"`

	Serve      serveCmd      `cmd:"" help:"Run the server."`
	Demo       demoCmd       `cmd:"" help:"Run a server with sample projects."`
	CI         ciCmd         `cmd:"" name:"ci" help:"Check a build in any CI: inventory, scan, reports and gate."`
	Runner     runnerCmd     `cmd:"" help:"Make managed scans for a server: fetch repositories and scan them."`
	Import     importCmd     `cmd:"" help:"Import scanner reports, bills of materials and lockfiles."`
	MCP        mcpCmd        `cmd:"" name:"mcp" help:"Let an assistant ask a Redoubt server, over the Model Context Protocol on standard input and output."`
	Deployment deploymentCmd `cmd:"" help:"Create and list deployments (tenants)."`
	User       userCmd       `cmd:"" help:"Create and manage the people who sign in."`
	Token      tokenCmd      `cmd:"" help:"Create, list and revoke API tokens."`
	Key        keyCmd        `cmd:"" help:"Look after the keys, which lie in a file of their own."`
	Backup     backupCmd     `cmd:"" help:"Back up all data to a file while the server runs."`
	Check      checkCmd      `cmd:"" help:"Check that what is stored is whole. Ends with 0 where it is, 1 where it is not, 2 where that could not be found out."`
	Migrate    migrateCmd    `cmd:"" help:"Move what is stored to another kind of database."`
	Advisories advisoriesCmd `cmd:"" help:"Load and query advisories about vulnerable packages."`
	Audit      auditCmd      `cmd:"" help:"Show the audit trail: who changed what."`
	Version    versionCmd    `cmd:"" help:"Print the version."`

	RunnerInside runnerInsideCmd `cmd:"" name:"runner-inside" hidden:"" help:"What a runner starts in its sandbox."`

	Completion completionCmd `cmd:"" help:"Print what makes a shell complete commands and flags."`
	Man        manCmd        `cmd:"" help:"Print a manual page: redoubt man token create | man -l -"`

	Login         loginCmd         `cmd:"" group:"api" help:"Sign in to a server, for the commands below."`
	Logout        logoutCmd        `cmd:"" group:"api" help:"Sign out."`
	Findings      findingsCmd      `cmd:"" group:"api" help:"List, show and triage findings."`
	Tickets       ticketsCmd       `cmd:"" group:"api" help:"List tickets about findings, and make and link them."`
	Exceptions    exceptionsCmd    `cmd:"" group:"api" help:"Accept findings for a while, ask for that, and decide about what was asked."`
	Notifications notificationsCmd `cmd:"" group:"api" help:"List, test and pause the rules by which people are told, and what they told."`
	Projects      projectsCmd      `cmd:"" group:"api" help:"List and manage projects."`
	Connections   connectionsCmd   `cmd:"" group:"api" help:"Connect code hosts, and make projects of their repositories."`
	Runs          runsCmd          `cmd:"" group:"api" help:"Start, watch and stop managed scans, and say when they are made."`
	Policies      policiesCmd      `cmd:"" group:"api" help:"Manage policies: the rules that scanners run, and what fails a build."`
	Scans         scansCmd         `cmd:"" group:"api" help:"Inspect the runs of scanners."`
	SBOM          sbomCmd          `cmd:"" name:"sbom" group:"api" help:"Download a bill of materials."`
}

func main() { os.Exit(run(os.Args[1:])) }

// newParser returns the parser of the command line.
func newParser(grammar *commandLine, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(grammar, append(options,
		kong.Name("redoubt"),
		kong.Description("An open, self-hosted code-security platform: findings, triage, dependencies and policies "+
			"over one Web API."),
		kong.Configuration(config.Load),
		kong.ExplicitGroups([]kong.Group{{Key: "api", Title: "With a server, or beside its database:"}}),
		kong.Vars{"formats": formats(), "dueClasses": dueHelp},
	)...)
}

// run executes one command line and returns its exit code: 0 for success, 1
// when the command failed, 2 when the line itself is wrong.
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
	context.AfterFunc(ctx, stop) // who asks a second time does not wait: the process ends at once
	a := &app{
		ctx: ctx, out: &printable{to: os.Stdout}, err: &printable{to: os.Stderr}, clock: time.Now,
		getenv: os.Getenv, environ: os.Environ, openBeside: openBeside,
		log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		unknown: config.UnknownVariables(parser.Model),
	}
	answers := Answers{Import: server.ImportAnswer, VEX: server.VEXAnswer, SkippedNote: server.SkippedNote}
	err = errors.Join(line.Run(a, answers), a.end())
	var ended *exitError
	switch {
	case errors.As(err, &ended):
		return ended.code
	case err != nil:
		return printError(err, 1)
	}
	return 0
}

// formats names what can be imported.
func formats() string {
	var words []string
	for _, f := range report.Formats() {
		words = append(words, string(f.Format))
	}
	return strings.Join(words, ", ")
}

// printError prints an error for a person, each bad field on a line of its own.
func printError(err error, code int) int {
	out := &printable{to: os.Stderr}
	var invalid *model.InvalidError
	if p, is := errors.AsType[*api.Problem](err); is {
		invalid = &model.InvalidError{}
		for _, f := range p.Errors {
			invalid.Fields = append(invalid.Fields, model.FieldError{Location: f.Location, Message: f.Message})
		}
	}
	if (invalid != nil || errors.As(err, &invalid)) && len(invalid.Fields) > 1 {
		fmt.Fprintln(out, "redoubt: the input has several errors:")
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
func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintln(a.out, "redoubt", about.Version)
	return err
}
