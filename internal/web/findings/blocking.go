package findings

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// blockedInFull is the number of findings that the page shows with all details. The others have one
// line each.
const blockedInFull = 20

// blockingPage is the data of the page about a failed gate: the reasons, the possible actions, and
// the current result of the gate.
type blockingPage struct {
	Scan            component.ScanRow
	Of              model.Project
	Gate            *model.ScanGate // nil if the scan did not fail its build
	Known           bool            // the account of the scan is stored
	Items           []blockedItem   // findings that still block first
	Left            int             // number of findings that still block
	Only            bool            // other results of the scan are not stored
	Newer           int64           // newer scan that replaced this one, or 0
	Types           []blockedType
	RequestForms    []component.ExceptionForm // for blocking findings without a pending request
	PendingRequests []model.Exception         // pending requests about findings that still block
	Done            *decision
	Self            string
	detail          int // number of findings shown in full so far
}

// blockedItem is a finding that failed the scan's build, or would fail it now.
type blockedItem struct {
	model.Blocked
	Policy model.Policy   // policy that blocks on it; zero if it was deleted
	Blocks bool           // it would block now
	Since  bool           // it did not block when the scan ran
	Now    ui.Message     // why it no longer blocks
	Detail *findingDetail // nil after the first findings, and for deleted findings
	Own    string         // its page; empty if it is not stored
	// Unrated reports whether the vulnerability has no rating, so that its severity defaults to
	// medium.
	Unrated bool
}

// blockedType contains the blocking findings of one type, for a joint decision.
type blockedType struct {
	Product ui.Product
	IDs     []int64
}

// Pass reports whether a new run would pass.
func (p *blockingPage) Pass() bool { return p.Gate != nil && p.Left == 0 }

// showBlocking shows why a scan failed its build. Build logs link to this page.
func showBlocking(req *ui.Request) error {
	p := &blockingPage{Self: req.HTTP.URL.Path}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		r, err := component.ReadScanRecord(ctx, req, tx, req.PathID)
		if err != nil {
			return err
		}
		p.Scan, p.Of, p.Known, p.Gate = r.ScanRow, r.Of, r.Known, r.Account.Gate
		if p.Gate == nil {
			return nil
		}
		s := r.Scan
		stream, err := tx.Stream(ctx, s.ProjectID, s.Ref, s.Source, "")
		if err != nil {
			return err
		}
		if stream.LastScanID != s.ID {
			p.Newer = stream.LastScanID
		}
		return p.judge(ctx, tx, s, r.Account)
	})
	if err != nil {
		return err
	}
	if err := fillBlocked(req, p); err != nil {
		return err
	}
	if p.Done, err = lastDecision(req, req.HTTP.URL.Query().Get("done"), p.Self); err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "blocking",
		Title:    "Blocking findings of scan " + ui.Decimal(req.PathID),
		Section:  "scans",
		Data:     p,
	})
}

// judge evaluates the gate for the scan's results with the current decisions and policies.
func (p *blockingPage) judge(ctx context.Context, tx *store.Tx, s model.Scan, account model.ScanAccount) error {
	known, err := readBlocked(ctx, tx, account)
	if err != nil {
		return err
	}
	p.Only = len(account.Reported) == 0 && s.Counts.Total() > 0
	result, err := policy.Reevaluate(ctx, tx, p.Of, s, known.of(s))
	if err != nil {
		return err
	}
	policies := map[int64]model.Policy{}
	all, err := tx.Policies(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		policies[one.ID] = one
	}
	onPrimary := map[int64]bool{}
	for i := range result.Judged {
		onPrimary[result.Judged[i].Finding.ID] = result.Judged[i].Known
	}
	var blocking []model.Blocked
	if gate := result.Record(); gate != nil {
		blocking = gate.Blocking
	}
	now := map[int64]model.Blocked{}
	for _, b := range blocking {
		now[b.FindingID] = b
	}
	for _, then := range account.Gate.Blocking {
		item := blockedItem{Blocked: then, Policy: policies[then.PolicyID]}
		if b, blocks := now[then.FindingID]; then.FindingID == 0 || blocks {
			item.Blocks = true
			if blocks {
				item.Blocked, item.Policy = b, policies[b.PolicyID]
			}
		} else {
			item.Now = known.whyPasses(result.Policy, then, onPrimary[then.FindingID])
		}
		delete(now, then.FindingID)
		p.Items = append(p.Items, item)
	}
	for _, b := range blocking { // blocking only since the scan ran
		if _, more := now[b.FindingID]; more {
			p.Items = append(p.Items, blockedItem{Blocked: b, Policy: policies[b.PolicyID], Blocks: true, Since: true})
		}
	}
	slices.SortStableFunc(p.Items, func(a, b blockedItem) int { return order(b.Blocks) - order(a.Blocks) })
	return nil
}

// knownFindings contains the stored findings that a scan reported or failed on, and the lineages of
// the latter.
type knownFindings struct {
	rows     []model.Finding // sorted by id
	lineages map[int64]model.Lineage
}

// readBlocked reads the findings in a scan's account. If the scan is only recorded, the account
// contains only the findings it failed on.
func readBlocked(ctx context.Context, tx *store.Tx, account model.ScanAccount) (known knownFindings, err error) {
	failed := map[int64]bool{}
	ids := slices.Clone(account.Reported)
	for _, b := range account.Gate.Blocking {
		if b.FindingID != 0 {
			failed[b.FindingID] = true
			ids = append(ids, b.FindingID)
		}
	}
	slices.Sort(ids)
	if known.rows, err = tx.FindingsByID(ctx, slices.Compact(ids)); err != nil {
		return known, err
	}
	var lineages []int64
	for i := range known.rows {
		if f := &known.rows[i]; failed[f.ID] {
			lineages = append(lineages, f.LineageID)
		}
	}
	known.lineages, err = tx.Lineages(ctx, lineages)
	return known, err
}

// of returns the scan's own findings. Findings of the advisories are excluded, as the gate reads
// them separately, except for scans that are only recorded.
func (k knownFindings) of(scan model.Scan) (own []model.Finding) {
	for i := range k.rows {
		if source := k.rows[i].Source; source == scan.Source || source == model.SourceAdvisories && scan.Outcome.Recorded() {
			own = append(own, k.rows[i])
		}
	}
	return own
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

// whyPasses returns the reason why a finding no longer blocks.
func (k knownFindings) whyPasses(given policy.EffectivePolicy, then model.Blocked, onPrimary bool) ui.Message {
	at, stored := slices.BinarySearchFunc(k.rows, then.FindingID, func(f model.Finding, id int64) int {
		return cmp.Compare(f.ID, id)
	})
	if !stored {
		return ui.Message{Code: "gone", Text: "Deleted together with its project or branch."}
	}
	f := &k.rows[at]
	if t := k.lineages[f.LineageID].Triage; t.State == model.TriageIgnored {
		text := "Ignored by " + actorTitle(t.By)
		if t.Reason.String() != "" {
			text += ": " + ui.ReasonWord(t.Reason.String())
		}
		return ui.Message{Code: "ignored", Text: text + "."}
	}
	switch {
	case onPrimary:
		return ui.Message{
			Code: "known",
			Text: "Already on the primary branch. The policy blocks only new findings.",
		}
	case given.Excluded(f.IssueType, f.Path):
		return ui.Message{Code: "excluded", Text: "Its path is now excluded."}
	case then.Condition == "" && given.RuleMode(f.RuleName).Mode != model.ModeBlock:
		return ui.Message{Code: "mode", Text: "No policy for this branch has its rule in mode block."}
	case f.State != model.Unresolved && f.Source == model.SourceAdvisories:
		return ui.Message{Code: "advisories", Text: "The advisories no longer report it."}
	}
	return ui.Message{Code: "condition", Text: "It no longer matches a condition of a policy."}
}

// fillBlocked reads the details of the findings.
func fillBlocked(req *ui.Request, p *blockingPage) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	ids := make([]int64, len(p.Items))
	for i := range p.Items {
		ids[i] = p.Items[i].FindingID
	}
	unrated, err := component.Unrated(req, view, ids)
	if err != nil {
		return err
	}
	var blocking []int64
	byType := map[model.IssueType][]int64{}
	for i := range p.Items {
		item := &p.Items[i]
		item.Unrated = unrated[item.FindingID]
		if item.FindingID != 0 {
			item.Own = req.To("/findings/" + ui.Decimal(item.FindingID))
		}
		if !item.Blocks {
			continue
		}
		p.Left++
		if item.FindingID == 0 {
			continue
		}
		blocking = append(blocking, item.FindingID)
		byType[item.IssueType] = append(byType[item.IssueType], item.FindingID)
		if p.detail == blockedInFull {
			continue
		}
		p.detail++
		if item.Detail, err = detail(req, view, item.FindingID, p.Self); err != nil {
			return err
		}
	}
	for _, one := range ui.Products {
		if ids := byType[one.Type]; len(ids) > 1 {
			p.Types = append(p.Types, blockedType{one, ids})
		}
	}
	if p.Left == 0 {
		return nil
	}
	if p.RequestForms, p.PendingRequests, err = exceptionForms(req, blocking, p.Self); req.Viewer.May(model.RoleTriager) {
		p.RequestForms = nil
	}
	return err
}
