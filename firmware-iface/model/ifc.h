/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Access to the firmware interface layouts.
 *
 * The layouts themselves are the kernel's <linux/mlx5/mlx5_ifc.h>, taken from
 * the kernel source at build time (it is dual licensed and pure C): model and
 * driver cannot disagree about an offset. This file only reads and writes
 * fields of those layouts in big endian memory that the guest may share.
 */
#ifndef NM_IFC_H
#define NM_IFC_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int64_t s64;
typedef uint16_t __attribute__((may_alias)) be16;
typedef uint32_t __attribute__((may_alias)) be32;
typedef uint64_t __attribute__((may_alias)) be64;

#define BIT(n)			(1u << (n))
#define BIT_ULL(n)		(1ull << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define __aligned(n)		__attribute__((aligned(n)))
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

/* What the layouts use of the kernel's own headers */
#define DECLARE_FLEX_ARRAY(type, name) \
	struct { struct { } __empty_##name; type name[]; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <mlx5_ifc.h>
#pragma GCC diagnostic pop

#define NM_BITS(typ)		sizeof(struct mlx5_ifc_##typ##_bits)
#define NM_BYTES(typ)		(NM_BITS(typ) / 8)
#define NM_OFF(typ, fld)	offsetof(struct mlx5_ifc_##typ##_bits, fld)
#define NM_WIDTH(typ, fld)	sizeof(((struct mlx5_ifc_##typ##_bits *)0)->fld)
#define NM_BYTE_OFF(typ, fld)	(NM_OFF(typ, fld) / 8)
#define NM_PTR(typ, p, fld)	((void *)((u8 *)(p) + NM_BYTE_OFF(typ, fld)))

static inline u16 nm_rd16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline u32 nm_rd32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline u64 nm_rd64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void nm_wr16(void *p, u16 v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void nm_wr32(void *p, u32 v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void nm_wr64(void *p, u64 v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

/* A field never crosses a 32-bit word unless it is a whole 64-bit word. */
static inline u32 nm_field_get(const void *p, u32 off, u32 width)
{
	u32 v = nm_rd32((const u8 *)p + off / 32 * 4);

	v >>= 32 - width - off % 32;
	return width == 32 ? v : v & ((1u << width) - 1);
}

static inline void nm_field_set(void *p, u32 off, u32 width, u32 val)
{
	u32 mask = width == 32 ? ~0u : (1u << width) - 1;
	u32 shift = 32 - width - off % 32;
	u8 *w = (u8 *)p + off / 32 * 4;

	nm_wr32(w, (nm_rd32(w) & ~(mask << shift)) | (val & mask) << shift);
}

#define NM_GET(typ, p, fld) \
	nm_field_get(p, NM_OFF(typ, fld), NM_WIDTH(typ, fld))
#define NM_SET(typ, p, fld, v) \
	nm_field_set(p, NM_OFF(typ, fld), NM_WIDTH(typ, fld), v)
#define NM_GET64(typ, p, fld)	nm_rd64(NM_PTR(typ, p, fld))
#define NM_SET64(typ, p, fld, v) nm_wr64(NM_PTR(typ, p, fld), v)

#endif /* NM_IFC_H */
