package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/store"
)

// How many documents, and statements of one, a page lists.
const (
	documentsPerPage  = 25
	statementsPerPage = 50
)

// vexPage lists the VEX documents that are proposed, or those that count.
type vexPage struct {
	Rows               []vexRow
	Pages              pager
	Proposed           bool // which are listed
	Proposals, Holding int
	Done               *message
}

type vexRow struct {
	redoubt.VEXHolding
	Changes int // of a proposal: findings whose triage would change
	Address string
}

func (req *request) listVEX() error {
	q := req.r.URL.Query()
	page, err := pageOf(q)
	if err != nil {
		return err
	}
	p := &vexPage{Done: vexDone(q), Proposed: q.Get("status") != string(redoubt.VEXHeld)}
	err = req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Proposals, err = tx.CountVEX(ctx, true); err != nil {
			return err
		}
		if p.Holding, err = tx.CountVEX(ctx, false); err != nil {
			return err
		}
		return req.readVEX(ctx, tx, p, page)
	})
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, pageView{Template: "vex", Title: "VEX", Section: "vex", Data: p})
}

// readVEX reads one page of documents, and of proposals what they would change.
func (req *request) readVEX(ctx context.Context, tx *store.Tx, p *vexPage, page int) error {
	total, status := p.Holding, redoubt.VEXHeld
	if p.Proposed {
		total, status = p.Proposals, redoubt.VEXProposed
	}
	p.Pages = newPager(page, documentsPerPage, total, func(n int) string {
		return req.to("/vex?" + url.Values{"status": {string(status)}, "page": {decimal(int64(n))}}.Encode())
	})
	list, _, err := tx.VEXDocuments(ctx, store.VEXQuery{Proposed: &p.Proposed, Skip: (page - 1) * documentsPerPage, Limit: documentsPerPage})
	if err != nil {
		return err
	}
	reviews, err := exceptions.ReviewProposals(ctx, tx, list)
	if err != nil {
		return err
	}
	for _, h := range list {
		p.Rows = append(p.Rows, vexRow{VEXHolding: h, Address: req.to("/vex/" + decimal(h.ID)), Changes: reviews[h.ID].Changes})
	}
	return nil
}

// vexDocumentPage is one document with what it says.
type vexDocumentPage struct {
	vexRow
	Withdraws  int // statements of the document that counts which a proposal does not make any more
	Statements []vexStatement
	Pages      pager
	Done       *message
}

type vexStatement struct {
	*redoubt.VEXStatement
	Key     string // its id
	Made    redoubt.VEXTriage
	Counts  bool
	Changes int // of a proposal that does not count: findings whose triage would change by it alone
}

func (req *request) showVEX() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	page, err := pageOf(req.r.URL.Query())
	if err != nil {
		return err
	}
	p := &vexDocumentPage{Done: vexDone(req.r.URL.Query())}
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.VEXHolding(ctx, id, nil)
		if err != nil {
			return err
		}
		p.vexRow = vexRow{VEXHolding: h, Address: req.to("/vex/" + decimal(id))}
		return p.read(ctx, tx, page)
	})
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, pageView{Template: "vex_document", Title: "VEX document " + decimal(id), Section: "vex", Data: p})
}

// read reads one page of what the document says, and what that would change.
func (p *vexDocumentPage) read(ctx context.Context, tx *store.Tx, page int) error {
	d, err := tx.VEXDocument(ctx, p.ID)
	if err != nil {
		return err
	}
	p.Pages = newPager(page, statementsPerPage, len(d.Statements), func(n int) string { return p.Address + "?page=" + decimal(int64(n)) })
	shown := d.Statements[min((page-1)*statementsPerPage, len(d.Statements)):min(page*statementsPerPage, len(d.Statements))]
	var review exceptions.Review
	if p.Proposed {
		if review, err = exceptions.ReviewVEX(ctx, tx, d, shown); err != nil {
			return err
		}
	}
	p.Changes, p.Withdraws = review.Changes, review.Withdraws
	for i := range shown {
		id := shown[i].ID()
		p.Statements = append(p.Statements, vexStatement{&shown[i], id, shown[i].Triage(), !p.Proposed || review.Counts[id], review.Alone[id]})
	}
	return nil
}

// decideVEX accepts or refuses a proposal, or one statement of it.
func (req *request) decideVEX() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	form, err := req.form()
	if err != nil {
		return err
	}
	var statements []string
	if one := form.Get("statement"); one != "" {
		statements = []string{one}
	}
	q, waits := url.Values{}, false
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		switch form.Get("decision") {
		case "accept":
			receipt, err := exceptions.AcceptVEX(ctx, tx, id, statements...)
			if err != nil {
				return err
			}
			q.Set("accepted", decimal(int64(receipt.Changed)))
		case "refuse":
			n, err := exceptions.RefuseVEX(ctx, tx, id, statements...)
			if err != nil {
				return err
			}
			q.Set("refused", decimal(int64(n)))
		default:
			return redoubt.Invalid("decision", "is accept or refuse")
		}
		list, _, err := tx.VEXDocuments(ctx, store.VEXQuery{After: id - 1, Limit: 1})
		waits = len(list) == 1 && list[0].ID == id && list[0].Proposed
		return err
	})
	if err != nil {
		return err
	}
	if waits {
		req.redirect(req.to("/vex/" + decimal(id) + "?" + q.Encode()))
	} else {
		req.redirect(req.to("/vex?" + q.Encode()))
	}
	return nil
}

func (req *request) removeVEX() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	var changed int
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		_, changed, err = exceptions.RemoveVEX(ctx, tx, id)
		return err
	})
	if err != nil {
		return err
	}
	req.redirect(req.to("/vex?status=held&removed=" + decimal(int64(changed))))
	return nil
}

// vexDone says what was decided a moment ago.
func vexDone(q url.Values) *message {
	bad := &redoubt.InvalidError{}
	triaged := func(name string) string {
		return "The triage of " + plural(number(q, name, bad), "finding") + " changed."
	}
	switch {
	case q.Has("accepted"):
		return &message{"accepted", "Accepted. " + triaged("accepted")}
	case q.Has("refused"):
		return &message{"refused", "Refused. Uploads of the project do not propose the same again."}
	case q.Has("removed"):
		return &message{"removed", "The document was removed. " + triaged("removed")}
	}
	return nil
}
