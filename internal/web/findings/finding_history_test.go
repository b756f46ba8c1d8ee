package findings

import (
	"reflect"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestHistoryOfCopiedFindings checks that the entry of a copied finding links to the original.
func TestHistoryOfCopiedFindings(t *testing.T) {
	got := scanMoment(store.FindingHistory{FindingEvent: model.FindingEvent{Kind: model.EventCopied, ScanID: 3, Detail: `{"finding_id":7}`}})
	want := moment{Kind: "copied", What: scanWords[model.EventCopied], ScanID: 3, Other: 7}
	if want.What == "" || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
