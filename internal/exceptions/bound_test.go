package exceptions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// full is a store at its limits.
type full struct{ Store }

func (full) Now() time.Time     { return now }
func (full) Actor() model.Actor { return model.Actor{} }

func (full) Exceptions(context.Context) ([]model.Exception, error) {
	return slices.Repeat([]model.Exception{{State: model.ExceptionActive}}, model.MaxExceptions), nil
}

func (full) CountVEX(context.Context, bool) (int, error) { return model.MaxVEXDocuments, nil }

func (full) StoredVEX(context.Context, model.VEXDocument) (model.VEXDocument, error) {
	return model.VEXDocument{}, model.ErrNotFound
}

// wordy is a store whose exceptions have the maximum size.
type wordy struct{ full }

func (wordy) Exceptions(context.Context) ([]model.Exception, error) {
	half := strings.Repeat("x", model.MaxExceptionBytes/4)
	return []model.Exception{{State: model.ExceptionActive, Target: half, Reason: half}, {State: model.ExceptionActive, Paths: model.PathGlobs{half}, Projects: model.ProjectGlobs{half}}}, nil
}

func TestExceptionAndVEXLimits(t *testing.T) {
	_, _, err := Add(t.Context(), full{}, model.Exception{Target: "x", Reason: "y", TriageReason: model.AcceptableRisk})
	if _, ok := errors.AsType[*model.InvalidError](err); !ok || !strings.Contains(err.Error(), "10000 exceptions") {
		t.Errorf("an exception: %v", err)
	}
	_, _, err = Add(t.Context(), wordy{}, model.Exception{Target: "x", Reason: "y", TriageReason: model.AcceptableRisk})
	if _, ok := errors.AsType[*model.InvalidError](err); !ok || !strings.Contains(err.Error(), "33554434 bytes") {
		t.Errorf("one that says too much beside the others: %v", err)
	}
	_, err = PutVEX(t.Context(), full{}, model.VEXDocument{Name: "urn:x", Statements: []model.VEXStatement{{Names: []string{"CVE-1"}}}})
	if _, ok := errors.AsType[*model.InvalidError](err); !ok || !strings.Contains(err.Error(), "20000 VEX documents") {
		t.Errorf("a document: %v", err)
	}
}
