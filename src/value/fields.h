// visit_fields() of every value type: visit.about(name, description) first, then for each field
// visit(key, member, description, style) in the order of the document, and visit.derived(key,
// function, description, style) for what a document tells beside the fields.
#pragma once

#include "value/fields_gpu.h"
#include "value/fields_machine.h"
#include "value/fields_results.h"
#include "value/fields_software.h"
