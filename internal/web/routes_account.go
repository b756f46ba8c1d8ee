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
		{get, "/login", anyone, (*visit).login},
		{post, "/login", anyone, (*visit).enter},
		{get, "/login/oidc", anyone, (*visit).goToProvider},
		{get, "/login/oidc/callback", anyone, (*visit).comeFromProvider},
		{post, "/logout", anyone, (*visit).leave},
		{get, "/setup/{code}", anyone, (*visit).setup},
		{post, "/setup/{code}", anyone, (*visit).useLink},
		{get, "/sign-in/{code}", anyone, (*visit).enterByLink},

		{get, org + "/approve/{code}", triager, (*visit).scannerWaits},
		{post, org + "/approve/{code}", triager, (*visit).approveScanner},
		{get, org + "/account", viewer, (*visit).account},
		{post, org + "/account/password", viewer, (*visit).changePassword},
		{post, org + "/account/sessions/{id}/end", viewer, (*visit).endSession},
		{post, org + "/account/sign-out", viewer, (*visit).signOutEverywhere},

		{get, settings + "/tokens", viewer, (*visit).tokens},
		{post, settings + "/tokens", viewer, (*visit).createToken},
		{post, settings + "/tokens/{id}/revoke", viewer, (*visit).revokeToken},
		{get, settings + "/users", admin, (*visit).users},
		{post, settings + "/users", admin, (*visit).createUser},
		{post, settings + "/users/{name}/role", admin, (*visit).setUserRole},
		{post, settings + "/users/{name}/link", admin, (*visit).resetUser},
		{post, settings + "/users/{name}/disable", admin, (*visit).disableUser},
		{post, settings + "/users/{name}/enable", admin, (*visit).enableUser},
		{get, settings + "/audit", admin, (*visit).audit},
		{get, settings + "/about", viewer, (*visit).about},
	}
}
