package notifications

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(notificationRoutes()))
}

// notificationRoutes are the routes of notification rules.
func notificationRoutes() []core.Route {
	const rules, one = core.BySlug + "/notification-rules", core.BySlug + "/notification-rules/{notificationRuleId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, rules, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listNotificationRules", "notifications", core.Extension(core.View(listNotificationRules)),
		),
		core.Op(
			httpx.Row(http.MethodPost, rules, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createNotificationRule", "notifications", core.Extension(core.Keyed(core.Plain(createNotificationRule))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"getNotificationRule", "notifications", core.Extension(core.View(getNotificationRule)),
		),
		core.Op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"updateNotificationRule", "notifications", core.Extension(core.Keyed(core.Plain(updateNotificationRule))),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deleteNotificationRule", "notifications", core.Extension(core.Update(deleteNotificationRule)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/test", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"testNotificationRule", "notifications", core.Extension(core.Keyed(core.Plain(testNotificationRule))),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/rotate", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"rotateNotificationSecret", "notifications", core.Extension(core.Keyed(core.Plain(rotateNotificationSecret))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/notifications", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listNotifications", "notifications", core.Extension(core.View(listNotifications)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/notifications/{notificationId}/resend", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.Refused),
			"resendNotification", "notifications", core.Extension(core.Update(resendNotification)),
		),
	}
}
