// Peer measures Redoubt beside DefectDojo: both take the same reports in and are
// asked for the same things over HTTP, in turns, and each thing lasts until the API
// shows it. It prints a table in Markdown. See scripts/peer, and "Beside DefectDojo"
// in docs/measurements.md for what is unfair to whom.
//
// Border: the DefectDojo is one that runs already, as the person who measures set it
// up. This program starts Redoubt alone, and ends only what it started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// Passwords and addresses of databases come in the environment: arguments show in
// lists of processes.
const (
	userVariable     = "PEER_USER"
	passwordVariable = "PEER_PASSWORD"
	databaseVariable = "PEER_DATABASE_URL"
)

func main() {
	var o options
	flag.StringVar(&o.dojo, "defectdojo", "", "address of a DefectDojo that runs on this machine")
	flag.StringVar(&o.redoubt, "redoubt", "bin/redoubt", "the program")
	flag.IntVar(&o.findings, "findings", 2000, "findings of a report")
	flag.IntVar(&o.rounds, "rounds", 1, "how often all is measured; the medians are printed")
	flag.DurationVar(&o.wait, "wait", time.Hour, "how long one thing may take until the API shows it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// options are what is measured, and where.
type options struct {
	dojo, redoubt    string
	findings, rounds int
	wait             time.Duration
}

// decided is how many findings are decided on in bulk.
const decided = 1000

// check refuses what would measure something else than the table says.
func (o options) check() error {
	if o.dojo == "" {
		return errors.New("-defectdojo names no server: set one up as its documentation says, and give its address, as http://127.0.0.1:8080")
	}
	if os.Getenv(userVariable) == "" || os.Getenv(passwordVariable) == "" {
		return fmt.Errorf("%s and %s are the name and password of an admin of DefectDojo; both are needed", userVariable, passwordVariable)
	}
	if o.findings < decided || o.rounds < 1 {
		return fmt.Errorf("%d findings in %d rounds cannot be measured: -findings takes %d or more, as %d of them are decided on, -rounds 1 or more", o.findings, o.rounds, decided, decided)
	}
	return nil
}

func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	dojo, err := signIn(ctx, o.dojo, os.Getenv(userVariable), os.Getenv(passwordVariable))
	if err != nil {
		return fmt.Errorf("DefectDojo: %w", err)
	}
	servers := []server{dojo}
	home, err := os.MkdirTemp("", "redoubt-peer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	started, err := serveAll(ctx, o.redoubt, home)
	defer func() {
		for _, s := range started {
			s.stop()
		}
	}()
	if err != nil {
		return err
	}
	for _, s := range started {
		servers = append(servers, s)
	}
	before := load()
	m := newMeter(servers, o)
	for round := range o.rounds {
		if err := m.round(ctx, round); err != nil {
			return err
		}
	}
	fmt.Print(m.table())
	return m.describe(ctx, os.Stdout, before)
}

// serveAll starts Redoubt on SQLite, and on PostgreSQL where the environment names one.
// What was started is returned beside an error, to be ended.
func serveAll(ctx context.Context, program, home string) (started []*ours, err error) {
	databases := []string{""}
	if url := os.Getenv(databaseVariable); url != "" {
		databases = append(databases, url)
	}
	for _, database := range databases {
		s, err := serve(ctx, program, home, database)
		if err != nil {
			return started, err
		}
		started = append(started, s)
	}
	return started, nil
}
