// Histories replays releases of real repositories as commits: the real scanner
// reports each to a server of ours, and what the server then says is open is
// compared with what the scanner says by itself. It prints a line for each
// repository and fails where anything differs, or where a finding took the place
// of another one. See scripts/histories, which fetches the archives.
package main

import (
	"context"
	_ "embed"
	"errors"
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
	recorded := flag.String("recorded", "", "measure the alignment over the recorded scans in this folder, without a server")
	pairs := flag.String("pairs", "", "with -recorded, write the pairs here")
	without := flag.Bool("without-code", false, "with -pairs, those of the scans without code")
	flag.Parse()
	if *recorded != "" {
		end(measure(*recorded, *pairs, *without))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, t, *archives, *only, flag.Args())
	stop()
	end(err)
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "histories:", err)
		os.Exit(1)
	}
}

// measure is offline, with the pairs in a file where one is named.
func measure(folder, pairs string, without bool) error {
	if pairs == "" {
		return offline(folder, nil, without)
	}
	f, err := os.Create(pairs)
	if err != nil {
		return err
	}
	return errors.Join(offline(folder, f, without), f.Close())
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
		fmt.Printf("%-10s  %7d  %4d–%-4d  %5d  %4d  %7d  %5d\n", name, r.commits, r.fewest, r.most, r.kept, r.hops, r.missing, r.extra)
		failed = failed || r.hops+r.missing+r.extra > 0
	}
	if failed {
		return fmt.Errorf("what the server says differs from what the scanner says")
	}
	return nil
}
