#include "figure_json.hpp"

#include <cmath>

#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::report {
namespace {

enum class Kind : std::uint8_t { curves, scatter, levels };
constexpr std::string_view kKinds[] = {"curves", "scatter", "levels"};

using Values = std::vector<std::optional<double>>;

void put_colour(Json& out, Format colour, bool hollow = false) {
  if (colour != Format::none) out["colour"] = name_of(colour);
  if (hollow) out["hollow"] = true;
}

Json named(Kind kind, const std::string& title) {
  return {{"kind", name_in(kKinds, kind)}, {"title", title}};
}

struct Writer {
  Json operator()(const Curves& plot) const {
    Json out = named(Kind::curves, plot.title);
    out["x_title"] = plot.x_title;
    out["labels"] = plot.labels;
    out["curves"] = Json::array();
    for (const Curves::Curve& curve : plot.curves) {
      Json one = {{"name", curve.name}, {"values", curve.values}};
      put_colour(one, curve.colour, curve.hollow);
      out["curves"].push_back(std::move(one));
    }
    return out;
  }
  Json operator()(const Scatter& plot) const {
    Json out = named(Kind::scatter, plot.title);
    out["x_title"] = plot.x_title;
    out["y_title"] = plot.y_title;
    out["points"] = Json::array();
    for (const Scatter::Point& point : plot.points) {
      Json one = {{"name", point.name}, {"x", point.x}, {"y", point.y}};
      put_colour(one, point.colour, point.hollow);
      out["points"].push_back(std::move(one));
    }
    return out;
  }
  Json operator()(const Levels& plot) const {
    Json out = named(Kind::levels, plot.title);
    out["x_title"] = plot.x_title;
    out["names"] = plot.names;
    if (plot.limit) out["limit"] = *plot.limit;
    out["rows"] = Json::array();
    for (const Levels::Row& row : plot.rows) {
      Json one = {{"label", row.label}, {"values", row.values}};
      if (!row.remark.empty()) one["remark"] = row.remark;
      put_colour(one, row.colour);
      out["rows"].push_back(std::move(one));
    }
    return out;
  }
};

/// As many as `wanted`.
Values values_of(JsonFields& from, std::size_t wanted) {
  Values out;
  static_cast<void>(from.take("values"));
  const JsonNode list = from["values"];
  for (const JsonNode& each : list.list()) {
    if (!each.json().is_null() && !each.json().is_number()) each.refuse(each.json(), "a number, null");
    out.push_back(each.json().is_null() ? std::nullopt : std::optional(each.json().get<double>()));
  }
  if (out.size() != wanted) list.refuse(Json(out.size()), std::to_string(wanted) + " numbers");
  return out;
}

/// The format whose colour a mark has; without one the next of these.
Format colour_of(JsonFields& from, std::size_t index) {
  constexpr Format kColours[] = {Format::tf32, Format::bf16, Format::f16, Format::e4m3,
                                 Format::e5m2, Format::s8,   Format::e2m1};
  const std::optional<std::string> name = from.text("colour");
  if (!name) return kColours[index % std::size(kColours)];
  if (const auto found = read_format(*name)) return *found;
  from.refuse("colour", Json(*name), "the name of a number format");
}

/// The objects of a list, with their place in it.
template <typename Use>
void for_each_of(JsonFields& from, std::string_view field, const Use& use) {
  static_cast<void>(from.take(field));
  std::size_t index = 0;
  for (const JsonNode& each : from[field].list()) {
    JsonFields fields(each.json(), each.where());
    use(fields, index++);
    fields.refuse_unknown();
  }
}

Curves curves_of(JsonFields& from) {
  Curves out;
  from.require({"labels", "curves"});
  from.text("x_title", out.x_title);
  from.texts("labels", out.labels);
  for_each_of(from, "curves", [&](JsonFields& fields, std::size_t index) {
    fields.require({"name", "values"});
    Curves::Curve& one = out.curves.emplace_back();
    fields.text("name", one.name);
    one.values = values_of(fields, out.labels.size());
    one.colour = colour_of(fields, index);
    fields.boolean("hollow", one.hollow);
  });
  return out;
}

Scatter scatter_of(JsonFields& from) {
  Scatter out;
  from.require({"points"});
  from.text("x_title", out.x_title);
  from.text("y_title", out.y_title);
  for_each_of(from, "points", [&](JsonFields& fields, std::size_t index) {
    fields.require({"name", "x", "y"});
    Scatter::Point& one = out.points.emplace_back();
    fields.text("name", one.name);
    one.colour = colour_of(fields, index);
    fields.boolean("hollow", one.hollow);
    for (const auto& [field, value] : {std::pair{"x", &one.x}, std::pair{"y", &one.y}}) {
      constexpr double kMost = 1e300;  // an axis has to have room around it
      fields.number(field, *value);
      if (std::fabs(*value) > kMost || (*value != 0 && std::fabs(*value) < 1 / kMost))
        fields.refuse(field, Json(*value), "0, and 1e-300 to 1e300 with either sign");
    }
  });
  return out;
}

Levels levels_of(JsonFields& from) {
  Levels out;
  from.require({"names", "rows"});
  from.text("x_title", out.x_title);
  from.texts("names", out.names);
  if (out.names.empty() || out.names.size() > 2)
    from.refuse("names", Json(out.names.size()), "one name or two");
  for_each_of(from, "rows", [&](JsonFields& fields, std::size_t index) {
    fields.require({"label", "values"});
    Levels::Row& one = out.rows.emplace_back();
    fields.text("label", one.label);
    fields.text("remark", one.remark);
    one.values = values_of(fields, out.names.size());
    one.colour = colour_of(fields, index);
  });
  double limit = 0;
  from.number("limit", limit);
  if (limit > 0) out.limit = limit;
  return out;
}

}  // namespace

Json json_of(const Figure& figure) { return std::visit(Writer(), figure); }

Figure figure_of(JsonFields& from, std::string id) {
  from.require({"kind"});
  Kind kind{};
  from.choice("kind", kKinds, kind);
  Figure out = kind == Kind::curves    ? Figure(curves_of(from))
               : kind == Kind::scatter ? Figure(scatter_of(from))
                                       : Figure(levels_of(from));
  std::visit(
      [&](auto& plot) {
        from.text("title", plot.title);
        plot.id = std::move(id);
      },
      out);
  return out;
}

}  // namespace mmaudit::report
