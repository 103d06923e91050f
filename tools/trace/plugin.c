/*
 * plugin.c - babeltrace-plugin-gsb.so: the commands of gsb-trace as sinks of babeltrace2, for those whose events come to it
 * from somewhere else than a folder, or through filters of their own.
 *
 *   babeltrace2 --plugin-path=/usr/lib/gsbroker lttng-traces/s --component=sink.gsb.summary
 *   babeltrace2 ... --component=sink.gsb.timeline --params='output="page.html"'
 *
 * Each sink takes all messages, and says what it has to say when there are no more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/ctf.h"
#include "tools/trace/export.h"
#include "tools/trace/source.h"

struct sink {
	struct gsb_traced t;
	bt_message_iterator *iterator;
	char *word, *output;
	bool json;
	int (*run)(const struct gsb_traced *t, const struct gsb_trace_request *q);
};

/* A copy; NULL: it is not given, or there is no memory. */
static char *param_text(const bt_value *params, const char *key)
{
	const bt_value *value = bt_value_map_borrow_entry_value_const(params, key);

	return value && bt_value_is_string(value) ? strdup(bt_value_string_get(value)) : NULL;
}

static bool param_is_true(const bt_value *params, const char *key)
{
	const bt_value *value = bt_value_map_borrow_entry_value_const(params, key);

	return value && bt_value_is_bool(value) && bt_value_bool_get(value);
}

static uint32_t param_number(const bt_value *params, const char *key)
{
	const bt_value *value = bt_value_map_borrow_entry_value_const(params, key);

	return value && bt_value_is_signed_integer(value)
		       ? (uint32_t)bt_value_integer_signed_get(value)
		       : 0;
}

static void destroy(struct sink *s)
{
	gsb_traced_finish(&s->t);
	free(s->word);
	free(s->output);
	free(s);
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_sink *self, const bt_value *params, const char *needs,
	   int (*run)(const struct gsb_traced *, const struct gsb_trace_request *))
{
	bt_self_component *component = bt_self_component_sink_as_self_component(self);
	struct sink *s = calloc(1, sizeof(*s));

	if (!s || bt_self_component_sink_add_input_port(self, "in", NULL, NULL)) {
		free(s);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	}
	s->t.engine = param_number(params, "engine");
	gsb_ctf_begin(&s->t);
	s->run = run;
	s->word = param_text(params, "word");
	s->output = param_text(params, "output");
	s->json = param_is_true(params, "json");
	if (needs && !(strcmp(needs, "word") ? s->output : s->word)) {
		fprintf(stderr, "sink.gsb: it needs --params='%s=\"...\"'\n", needs);
		destroy(s);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	bt_self_component_set_data(component, s);
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

static struct sink *sink_of(bt_self_component_sink *self)
{
	return bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
}

static void finalize(bt_self_component_sink *self)
{
	struct sink *s = sink_of(self);

	bt_message_iterator_put_ref(s->iterator);
	destroy(s);
}

static bt_component_class_sink_graph_is_configured_method_status
configured(bt_self_component_sink *self)
{
	struct sink *s = sink_of(self);

	return (bt_component_class_sink_graph_is_configured_method_status)
		bt_message_iterator_create_from_sink_component(
			self, bt_self_component_sink_borrow_input_port_by_index(self, 0),
			&s->iterator);
}

/* No more messages. */
static bt_component_class_sink_consume_method_status say(struct sink *s)
{
	const struct gsb_trace_request q = {
		.path = "trace", .word = s->word, .output = s->output, .json = s->json};

	gsb_traced_warn(&s->t, q.path);
	return s->run(&s->t, &q) || fflush(stdout)
		       ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR
		       : BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

static bt_component_class_sink_consume_method_status consume(bt_self_component_sink *self)
{
	struct sink *s = sink_of(self);
	bt_message_array_const messages;
	uint64_t n = 0;
	bt_message_iterator_next_status status =
		bt_message_iterator_next(s->iterator, &messages, &n);
	int err = 0;

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return say(s);
	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_component_class_sink_consume_method_status)status;
	for (uint64_t i = 0; i < n; i++) {
		if (!err)
			err = gsb_ctf_take(&s->t, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return err ? BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_MEMORY_ERROR
		   : BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

/* clang-format off */
BT_PLUGIN_MODULE();
BT_PLUGIN(gsb);
BT_PLUGIN_DESCRIPTION("What gsb-trace(1) says of the events of gsbroker");
BT_PLUGIN_LICENSE("MIT");

#define SINK(name, needs, description)                                                                           \
	static bt_component_class_initialize_method_status initialize_##name(                                    \
		bt_self_component_sink *self, bt_self_component_sink_configuration *configuration,               \
		const bt_value *params, void *data)                                                              \
	{                                                                                                        \
		return initialize(self, params, needs, gsb_trace_##name);                                        \
	}                                                                                                        \
	BT_PLUGIN_SINK_COMPONENT_CLASS(name, consume);                                                           \
	BT_PLUGIN_SINK_COMPONENT_CLASS_DESCRIPTION(name, description);                                           \
	BT_PLUGIN_SINK_COMPONENT_CLASS_INITIALIZE_METHOD(name, initialize_##name);                               \
	BT_PLUGIN_SINK_COMPONENT_CLASS_FINALIZE_METHOD(name, finalize);                                          \
	BT_PLUGIN_SINK_COMPONENT_CLASS_GRAPH_IS_CONFIGURED_METHOD(name, configured)

SINK(summary, NULL, "what each tenant and kernel took and waited for");
SINK(explain, "word", "why it was held, re-sized, put beside whom");
SINK(critical, NULL, "the chain of waits that made it end when it did");
SINK(model_error, NULL, "what the policy predicted, against what was");
SINK(error_plot, "output", "the same as a picture, a point for each launch");
SINK(timeline, "output", "a page for a browser");
SINK(perfetto, "output", "JSON for ui.perfetto.dev");
SINK(profile, "output", "a folder of TAU profiles");
SINK(replay, "output", "the load itself: who posted what");
/* clang-format on */
