package web

// settingsNav is what accountRoutes adds to the navigation.
var settingsNav = navGroup{"Settings", []navItem{
	{Label: "Tokens", Path: "/settings/tokens", Section: "tokens", least: viewer},
	{Label: "Users", Path: "/settings/users", Section: "users", least: admin},
	{Label: "Audit log", Path: "/settings/audit", Section: "audit", least: admin},
	{Label: "About", Path: "/settings/about", Section: "about", least: viewer},
}}

// accountRoutes are the rows about people: how they come in, and what they set.
func accountRoutes() []route {
	const settings = org + "/settings"
	return []route{
		{row(get, "/login", anyone, reads), (*request).login},
		{row(post, "/login", anyone, writes), (*request).enter},
		{row(get, "/login/oidc", anyone, reads), (*request).goToProvider},
		{row(get, "/login/oidc/callback", anyone, writes), (*request).comeFromProvider},
		{row(post, "/logout", anyone, writes), (*request).leave},
		{row(get, "/setup/{code}", anyone, reads), (*request).setup},
		{row(post, "/setup/{code}", anyone, writes), (*request).useLink},
		{row(get, "/sign-in/{code}", anyone, writes), (*request).enterByLink},

		{row(get, org+"/approve/{code}", triager, reads), (*request).scannerWaits},
		{row(post, org+"/approve/{code}", triager, writes), (*request).approveScanner},
		{row(get, org+"/account", viewer, reads), (*request).account},
		{row(post, org+"/account/password", viewer, writes), (*request).changePassword},
		{row(post, org+"/account/sessions/{id}/end", viewer, writes), (*request).endSession},
		{row(post, org+"/account/sign-out", viewer, writes), (*request).signOutEverywhere},

		{row(get, settings+"/tokens", viewer, reads), (*request).tokens},
		{row(post, settings+"/tokens", viewer, writes), (*request).createToken},
		{row(post, settings+"/tokens/{id}/revoke", viewer, writes), (*request).revokeToken},
		{row(get, settings+"/users", admin, reads), (*request).users},
		{row(post, settings+"/users", admin, writes), (*request).createUser},
		{row(post, settings+"/users/{name}/role", admin, writes), (*request).setUserRole},
		{row(post, settings+"/users/{name}/link", admin, writes), (*request).resetUser},
		{row(post, settings+"/users/{name}/disable", admin, writes), (*request).disableUser},
		{row(post, settings+"/users/{name}/enable", admin, writes), (*request).enableUser},
		{row(get, settings+"/audit", admin, reads), (*request).audit},
		{row(get, settings+"/about", viewer, reads), (*request).about},
	}
}
