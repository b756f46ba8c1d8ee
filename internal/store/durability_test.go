package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// childVariable is the environment variable with the data folder of a child process, which writes
// until it is killed.
const childVariable = "REDOUBT_STORE_TEST_CHILD"

func isChild() bool {
	dir := os.Getenv(childVariable)
	if dir == "" {
		return false
	}
	if err := writeForever(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return true
}

// writeForever prints the name of each project once it is committed.
func writeForever(dir string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Dir: dir, Clock: storetest.NewClock().Now})
	if err != nil {
		return err
	}
	d, err := s.Deployment(ctx, "acme")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		name := fmt.Sprint("acme/p", i)
		err := s.Update(ctx, d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateProject(ctx, model.Project{Name: name})
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(name)
	}
}

func TestAcknowledgedWritesSurviveAKill(t *testing.T) {
	config := storetest.Database(t, "sqlite", storetest.NewClock())
	s := storetest.Open(t, config)
	d := storetest.Deployment(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), childVariable+"="+config.Dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged = append(acknowledged, lines.Text()); len(acknowledged) == 50 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait() // it was killed
	if len(acknowledged) < 50 {
		t.Fatalf("the child ended after %d writes", len(acknowledged))
	}

	s = storetest.Open(t, config)
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		for _, name := range acknowledged {
			if _, err := tx.ProjectByName(ctx, name); err != nil {
				t.Errorf("an acknowledged write is lost: %v", err)
			}
		}
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		// the output about the last project may be lost
		if extra := len(projects) - len(acknowledged); extra < 0 || extra > 1 {
			t.Errorf("%d projects are there, %d were acknowledged", len(projects), len(acknowledged))
		}
		return err
	})
}
