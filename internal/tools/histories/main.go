// Histories replays releases of real repositories as commits and scans each with a real scanner. It
// compares the open findings of a server with the scanner's own results. It prints a line for each
// repository and fails on any difference. scripts/histories fetches the archives.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

//go:embed rules.yaml
var rules []byte

func main() {
	var t tools
	archives := flag.String("archives", "", "folder of the archives")
	only := flag.String("only", "", "replay this repository alone")
	flag.StringVar(&t.redoubt, "redoubt", "", "the program")
	flag.StringVar(&t.semgrep, "semgrep", "", "the scanner")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, t, *archives, *only, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

// run replays the archives, named as REPOSITORY=FILE in the order of commits.
func run(ctx context.Context, t tools, archives, only string, named []string) error {
	steps, names, err := readSteps(archives, named)
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "redoubt-histories-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	t.rules = filepath.Join(home, "rules.yaml")
	if err := os.WriteFile(t.rules, rules, 0o600); err != nil {
		return err
	}
	server, err := t.serve(ctx, home)
	if err != nil {
		return err
	}
	defer server.stop()
	failed := false
	fmt.Println("REPOSITORY  COMMITS  FINDINGS    KEPT  HOPS  MISSING  EXTRA")
	for _, name := range names {
		if only != "" && only != name {
			continue
		}
		r, err := t.replay(ctx, server, filepath.Join(home, name), name, steps[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%-10s  %7d  %4d–%-4d  %5d  %4d  %7d  %5d\n",
			name, r.commits, r.fewest, r.most, r.retained, r.hops, r.missing, r.extra)
		failed = failed || r.hops+r.missing+r.extra > 0
	}
	if failed {
		return fmt.Errorf("the server's messages differ from the scanner's")
	}
	return nil
}
