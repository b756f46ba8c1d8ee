package advisory

import (
	"context"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// CVSS returns the score and vector of the newest CVSS version in the records, or 0 and "".
func (v *Vulnerability) CVSS() (score float64, vector string) {
	for i := range v.Records {
		r := &v.Records[i]
		if r.Vector != "" && (vector == "" || strings.HasPrefix(r.Vector, "CVSS:4") && !strings.HasPrefix(vector, "CVSS:4")) {
			score, vector = r.Score, r.Vector
		}
	}
	return score, vector
}

// ListSummary returns the fields that lists show.
func (v *Vulnerability) ListSummary() model.AdvisorySummary {
	c := model.AdvisorySummary{
		Group: v.Group, Shown: v.Shown, Names: v.Names, Summary: truncate(v.Summary(), maxSummary),
		Malicious: v.Malicious, Withdrawn: v.Withdrawn(),
	}
	if v.Rated("") {
		c.Severity = v.Severity("")
	}
	c.Score, _ = v.CVSS()
	for i := range v.Records {
		r := &v.Records[i]
		if r.Modified.After(c.Modified) {
			c.Modified = r.Modified
		}
		for j := range r.Affected {
			if key := r.Affected[j].Package; !slices.Contains(c.Packages, key) {
				c.Packages = append(c.Packages, key)
			}
		}
	}
	return c
}

// SummaryStore provides the storage of FillSummaries.
type SummaryStore interface {
	// GroupsWithoutSummary reads groups without a summary and with a greater id than after, by id.
	GroupsWithoutSummary(ctx context.Context, after int64, limit int) ([]model.AdvisoryGroup, error)
	// PutAdvisorySummaries stores summaries.
	PutAdvisorySummaries(ctx context.Context, summaries []model.AdvisorySummary) error
}

// FillSummaries stores the missing summaries in batches and returns their number. An interrupted run is
// continued by the next one.
func FillSummaries(ctx context.Context, s SummaryStore) (made int, err error) {
	err = missingSummaries(ctx, s, func(summaries []model.AdvisorySummary) error {
		made += len(summaries)
		return s.PutAdvisorySummaries(ctx, summaries)
	})
	return made, err
}

// missingSummaries calls handle with the missing summaries, batch by batch.
func missingSummaries(ctx context.Context, s interface {
	GroupsWithoutSummary(ctx context.Context, after int64, limit int) ([]model.AdvisoryGroup, error)
}, handle func([]model.AdvisorySummary) error,
) error {
	for after := int64(0); ; {
		groups, err := s.GroupsWithoutSummary(ctx, after, batchRecords)
		if err != nil || len(groups) == 0 {
			return err
		}
		summaries := make([]model.AdvisorySummary, len(groups))
		for i, g := range groups {
			v, err := NewVulnerability(g)
			if err != nil {
				return err
			}
			summaries[i] = v.ListSummary()
		}
		if err := handle(summaries); err != nil {
			return err
		}
		after = groups[len(groups)-1].ID
	}
}

// Cards returns the summaries of groups. It computes missing ones and does not store them.
func Cards(ctx context.Context, s interface {
	AdvisorySummaries(ctx context.Context, groups []int64) (map[int64]model.AdvisorySummary, error)
	AdvisoryGroupsByID(ctx context.Context, ids []int64) (map[int64]model.AdvisoryGroup, error)
}, groups []int64,
) (map[int64]model.AdvisorySummary, error) {
	summaries, err := s.AdvisorySummaries(ctx, groups)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(groups), func(id int64) bool { return summaries[id].Group != 0 })
	if len(missing) == 0 {
		return summaries, nil
	}
	read, err := s.AdvisoryGroupsByID(ctx, missing)
	for id, g := range read {
		if len(g.Records) == 0 {
			continue
		}
		v, err := NewVulnerability(g)
		if err != nil {
			return nil, err
		}
		summaries[id] = v.ListSummary()
	}
	return summaries, err
}
