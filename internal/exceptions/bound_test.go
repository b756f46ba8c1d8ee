package exceptions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// full is a store that holds as much as there may be.
type full struct{ Store }

func (full) Now() time.Time       { return now }
func (full) Actor() redoubt.Actor { return redoubt.Actor{} }

func (full) Exceptions(context.Context) ([]redoubt.Exception, error) {
	return slices.Repeat([]redoubt.Exception{{State: redoubt.ExceptionActive}}, redoubt.MaxExceptions), nil
}

func (full) CountVEX(context.Context, bool) (int, error) { return redoubt.MaxVEXDocuments, nil }

func (full) HeldVEX(context.Context, redoubt.VEXDocument) (redoubt.VEXDocument, error) {
	return redoubt.VEXDocument{}, redoubt.ErrNotFound
}

// wordy is a store whose exceptions say as much as they may.
type wordy struct{ full }

func (wordy) Exceptions(context.Context) ([]redoubt.Exception, error) {
	half := strings.Repeat("x", redoubt.MaxExceptionBytes/4)
	return []redoubt.Exception{{State: redoubt.ExceptionActive, Target: half, Reason: half}, {State: redoubt.ExceptionActive, Paths: redoubt.PathGlobs{half}, Projects: redoubt.ProjectGlobs{half}}}, nil
}

func TestOneTooManyIsRefused(t *testing.T) {
	_, _, err := Add(t.Context(), full{}, redoubt.Exception{Target: "x", Reason: "y", TriageReason: redoubt.AcceptableRisk})
	if _, ok := errors.AsType[*redoubt.InvalidError](err); !ok || !strings.Contains(err.Error(), "10000 exceptions") {
		t.Errorf("an exception: %v", err)
	}
	_, _, err = Add(t.Context(), wordy{}, redoubt.Exception{Target: "x", Reason: "y", TriageReason: redoubt.AcceptableRisk})
	if _, ok := errors.AsType[*redoubt.InvalidError](err); !ok || !strings.Contains(err.Error(), "33554434 bytes") {
		t.Errorf("one that says too much beside the others: %v", err)
	}
	_, err = PutVEX(t.Context(), full{}, redoubt.VEXDocument{Name: "urn:x", Statements: []redoubt.VEXStatement{{Names: []string{"CVE-1"}}}})
	if _, ok := errors.AsType[*redoubt.InvalidError](err); !ok || !strings.Contains(err.Error(), "20000 VEX documents") {
		t.Errorf("a document: %v", err)
	}
}
