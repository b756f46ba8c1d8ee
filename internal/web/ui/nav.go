package ui

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// NavGroup is a group of the navigation.
type NavGroup struct {
	Title string // empty for the first group
	Items []NavItem
}

// NavItem is a link of the navigation.
type NavItem struct {
	Label   string
	Path    string // below the deployment
	Section string // pages with this section belong to the item
	least   model.Role

	Address string
	Current bool
	Count   int // shown next to the label if above 0
}

// navTable returns the complete navigation, as an administrator sees it.
func navTable() []NavGroup {
	return []NavGroup{
		{"", []NavItem{
			{Label: "Overview", Path: "/overview", Section: "overview", least: model.RoleViewer},
			{Label: "Assigned to me", Path: "/mine", Section: "mine", least: model.RoleViewer},
		}},
		{"Findings", []NavItem{
			{Label: "Code", Path: "/findings", Section: "findings", least: model.RoleViewer},
			{Label: "Supply chain", Path: "/supply-chain/vulnerabilities", Section: "vulnerabilities", least: model.RoleViewer},
			{Label: "Secrets", Path: "/secrets", Section: "secrets", least: model.RoleViewer},
		}},
		{"Inventory", []NavItem{
			{Label: "Projects", Path: "/projects", Section: "projects", least: model.RoleViewer},
			{Label: "Scans", Path: "/scans", Section: "scans", least: model.RoleViewer},
			{Label: "Dependencies", Path: "/supply-chain/dependencies", Section: "dependencies", least: model.RoleViewer},
			{Label: "Advisories", Path: "/advisories", Section: "advisories", least: model.RoleViewer},
			{Label: "SBOM", Path: "/sbom", Section: "sbom", least: model.RoleViewer},
			{Label: "Policies", Path: "/policies", Section: "policies", least: model.RoleViewer},
			{Label: "Exceptions", Path: "/exceptions", Section: "exceptions", least: model.RoleViewer},
			{Label: "Requests", Path: "/exceptions?show=requested", Section: "requests", least: model.RoleViewer},
		}},
		settingsNav,
	}
}

// Navigation returns the part of the navigation that a viewer may see. waiting contains the counts
// of pending items by section.
func Navigation(org, section string, v Viewer, waiting map[string]int) []NavGroup {
	var out []NavGroup
	for _, g := range navTable() {
		shown := NavGroup{Title: g.Title}
		for _, item := range g.Items {
			if v.May(item.least) {
				item.Address, item.Current = org+item.Path, item.Section == section
				item.Count = waiting[item.Section]
				shown.Items = append(shown.Items, item)
			}
		}
		if len(shown.Items) > 0 {
			out = append(out, shown)
		}
	}
	return out
}

// countWaiting returns the number of pending items by section: findings assigned to the viewer and,
// for users with the triager role, exception requests.
func countWaiting(req *Request) (map[string]int, error) {
	mine, err := countMine(req)
	waiting := map[string]int{"mine": mine}
	if err != nil || !req.Viewer.May(model.RoleTriager) {
		return waiting, err
	}
	return waiting, req.View(func(_ context.Context, tx *store.Tx) error {
		waiting["requests"] = tx.Deployment().OpenRequests
		return nil
	})
}

// settingsNav is the settings group of the navigation.
var settingsNav = NavGroup{"Settings", []NavItem{
	{Label: "Tokens", Path: "/settings/tokens", Section: "tokens", least: model.RoleViewer},
	{Label: "Connections", Path: ConnectionsPath, Section: "connections", least: model.RoleAdmin},
	{Label: "Runners", Path: RunnersPath, Section: "runners", least: model.RoleAdmin},
	{Label: "Notifications", Path: NotificationsPath, Section: "notifications", least: model.RoleAdmin},
	{Label: "Users", Path: "/settings/users", Section: "users", least: model.RoleAdmin},
	{Label: "Audit log", Path: "/settings/audit", Section: "audit", least: model.RoleAdmin},
	{Label: "About", Path: "/settings/about", Section: "about", least: model.RoleViewer},
}}
