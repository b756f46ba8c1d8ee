package component

import (
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
)

// PickedFindings selects findings by their ids.
func PickedFindings(t model.IssueType, ids []string) (model.FindingFilter, error) {
	f := model.FindingFilter{IssueType: t, HasIDs: true}
	for _, text := range ids {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return f, model.Invalid("id", "invalid finding ID %.20q", text)
		}
		f.IDs = append(f.IDs, id)
	}
	if len(f.IDs) == 0 {
		return f, model.Invalid("id", "nothing is selected: select rows or all results")
	}
	return f, nil
}
